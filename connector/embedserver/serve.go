package embedserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// What a client may take beside Options.Timeout.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	writeTimeout  = time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
)

// ErrExposed refuses to serve other machines without a key.
var ErrExposed = errors.New("other machines reach this address and there is no key: set --api-key, or --without-key to take requests of everybody who can reach it")

// Serve answers on l until Options.Drain is closed and the requests under way are answered, which is a clean end, or ctx ends, which
// ends them too. It closes l. When it returns, the embedder is used no more; Serve is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.opts.Key == "" && !s.opts.WithoutKey && !loopback(l.Addr().String()) {
		return errors.Join(ErrExposed, l.Close())
	}
	base, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return base },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	s.log.Info("listening", "address", l.Addr().String(), "model", s.model.Provider+"/"+s.model.Name, "dimensions", s.model.Dimensions, "key", s.opts.Key != "")
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("embedserver: %w", err)
	case <-s.opts.Drain:
		_ = server.Shutdown(ctx) // fails if ctx ends, which is looked at below
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	cancel(errStopping)
	cerr := server.Close()
	s.Stop()
	if err != nil {
		return err
	}
	return cerr
}

var errStopping = errors.New("the server stops")
