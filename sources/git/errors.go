package git

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"

	"github.com/kbsync/kbsync/connector"
)

// fetchError gives the class of what went wrong between here and the server, and says what to do.
func (s *Source) fetchError(err error) error {
	if classed := (*connector.Error)(nil); errors.As(err, &classed) {
		return err
	}
	if errors.Is(err, errDamaged) {
		return connector.Errorf(connector.ClassTransient, "git: %s: %w", s.address.display, err)
	}
	hello := (*helloError)(nil)
	greeted := !errors.As(err, &hello)
	err = bare(err)
	status, redirect := (*statusError)(nil), (*redirectError)(nil)
	certificate, said := (*tls.CertificateVerificationError)(nil), (*sshError)(nil)
	switch {
	case plumbing.IsHash(s.config.Ref) && strings.Contains(err.Error(), "not our ref"):
		return connector.Errorf(connector.ClassNotFound, "git: there is no commit %s in %s", s.config.Ref, s.address.display)
	case errors.As(err, &status):
		return s.statusError(status)
	case errors.As(err, &redirect):
		return connector.Errorf(connector.ClassNotFound, "git: %s: %w", s.address.display, redirect)
	case errors.As(err, &certificate):
		return connector.Errorf(connector.ClassDenied, "git: %s: the certificate is not trusted: %w", s.address.display, certificate)
	case knownhosts.IsHostKeyChanged(err), knownhosts.IsHostUnknown(err):
		return connector.Errorf(connector.ClassDenied, "git: %s: the server's key is not the one in known_hosts: %w; if it is right, add it to the file (ssh-keyscan)", s.address.display, err)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return connector.Errorf(connector.ClassCredentials, "git: %s: the server refuses user %s: %w; check ssh_key", s.address.display, s.address.user, err)
	case errors.As(err, &said) && said.message != "":
		return connector.Errorf(sshClass(said.message), "git: %s: %w", s.address.display, err)
	}
	if !greeted && noGit(err) {
		return connector.Errorf(connector.ClassNotFound, "git: %s: what answers is no git server; is url right? %w", s.address.display, err)
	}
	return connector.Errorf(transferClass(err), "git: %s: %w", s.address.display, err)
}

// bare takes off what go-git wraps errors in, which errors.As does not see through.
func bare(err error) error {
	for {
		unexpected, permanent := (*plumbing.UnexpectedError)(nil), (*plumbing.PermanentError)(nil)
		switch {
		case errors.As(err, &unexpected):
			err = unexpected.Err
		case errors.As(err, &permanent):
			err = permanent.Err
		default:
			return err
		}
	}
}

func (s *Source) statusError(e *statusError) error {
	at := s.address.display
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		if s.address.hasLogin() {
			return connector.Errorf(connector.ClassCredentials, "git: %s: %w: the credentials were refused; check token, or username and password, and that they may read this repository", at, e)
		}
		return connector.Errorf(connector.ClassCredentials, "git: %s: %w: set token, or username and password (some hosts answer so where there is no such repository)", at, e)
	case http.StatusNotFound, http.StatusGone:
		return connector.Errorf(connector.ClassNotFound, "git: %s: there is no such repository; is url right? Hosts say the same of private repositories: set token", at)
	case http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(e.after)
		if err != nil || seconds < 0 {
			seconds = 0
		}
		return &connector.Error{Class: connector.ClassThrottled, RetryAfter: time.Duration(min(seconds, 24*3600)) * time.Second, Err: connector.Errorf(connector.ClassThrottled, "git: %s: %w", at, e)}
	case http.StatusRequestTimeout:
		return connector.Errorf(connector.ClassTransient, "git: %s: %w", at, e)
	}
	if e.code >= http.StatusInternalServerError {
		return connector.Errorf(connector.ClassTransient, "git: %s: %w", at, e)
	}
	return connector.Errorf(connector.ClassUnknown, "git: %s: %w", at, e)
}

// sshClass reads the messages of the well-known hosts.
func sshClass(message string) connector.Class {
	lower := strings.ToLower(message)
	for _, s := range []string{"not found", "does not exist", "not appear to be a git repository", "could not be found", "no such"} {
		if strings.Contains(lower, s) {
			return connector.ClassNotFound
		}
	}
	for _, s := range []string{"denied", "permission", "not allowed", "unauthorized"} {
		if strings.Contains(lower, s) {
			return connector.ClassCredentials
		}
	}
	return connector.ClassTransient
}

// noGit says that an answer is something else, such as a page of HTML.
func noGit(err error) bool {
	unexpected := (*packp.ErrUnexpectedData)(nil)
	return errors.As(err, &unexpected) || errors.Is(err, pktline.ErrInvalidPktLen) || errors.Is(err, packp.ErrEmptyInput)
}

// transferClass is that of an exchange which broke: it is worth another try, unless it broke on this side.
func transferClass(err error) connector.Class {
	if errors.Is(err, transport.ErrRepositoryNotFound) {
		return connector.ClassNotFound
	}
	if class := diskClass(err); class != connector.ClassUnknown {
		return class
	}
	return connector.ClassTransient
}

// diskClass is that of an error of the mirror's file system.
func diskClass(err error) connector.Class {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return connector.ClassFull
	case errors.Is(err, fs.ErrPermission):
		return connector.ClassDenied
	}
	return connector.ClassOf(err)
}
