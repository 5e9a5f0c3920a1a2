package pdf

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
	"github.com/kbsync/kbsync/internal/remote"
)

// Defaults of OCR.
const (
	DefaultOCRTimeout = 2 * time.Minute
	DefaultOCRDPI     = 300
)

// Bounds of what a program or service may answer, in bytes.
const (
	maxAnswer  = 16 << 20
	maxMessage = 500
)

// imageArgument is what stands for the picture's file in a command.
const imageArgument = "{image}"

// OCR says who reads pages that have pictures and no text. Neither command nor url: nobody does.
type OCR struct {
	Command []string         `yaml:"command" doc:"a program that gets the picture of a page as PNG, on its standard input or as the file that {image} in an argument stands for, and prints the text"`
	URL     string           `yaml:"url" doc:"a service that gets the picture of a page by POST and answers with its text"`
	Request string           `yaml:"request" enum:"image,paddleocr" doc:"what is sent to url: image is the PNG file, paddleocr is JSON as PaddleOCR's services take it"`
	Token   connector.Secret `yaml:"token" doc:"sent to url as bearer token"`
	DPI     int              `yaml:"dpi" doc:"how finely pages are drawn, in dots an inch"`
	Timeout time.Duration    `yaml:"timeout" doc:"the longest time for one page"`
}

func (o *OCR) on() bool { return len(o.Command) > 0 || o.URL != "" }

func (o *OCR) validate() error {
	switch {
	case !o.on():
		return nil
	case len(o.Command) > 0 && o.URL != "":
		return errors.New("ocr: give command or url, not both")
	case len(o.Command) > 0 && o.Command[0] == "":
		return errors.New("ocr: command names no program")
	case o.DPI < 36 || o.DPI > 1200:
		return errors.New("ocr: dpi must be from 36 to 1200")
	case o.Timeout <= 0:
		return errors.New("ocr: timeout must be more than 0")
	}
	if u, err := url.Parse(o.URL); err != nil || o.URL != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("ocr: url %q is no address of a service", o.URL)
	}
	return nil
}

// recognise gives the page the text that OCR finds in its picture.
func (d *document) recognise(page uint64, out *pagelayout.Page) {
	if out.Width <= 0 || out.Height <= 0 {
		return
	}
	scale := float64(d.ocr.DPI) / 72
	picture, err := d.picture(page, out, scale)
	if err != nil || len(picture) == 0 || d.s.err != nil {
		d.s.fail(err)
		return
	}
	d.s.pause()
	answer, err := d.ocr.read(d.s.ctx, picture)
	var lines []textLine
	if err == nil {
		lines, err = answerLines(answer)
	}
	if err != nil {
		if d.s.ctx.Err() != nil {
			err = d.s.ctx.Err()
		}
		d.s.fail(fmt.Errorf("ocr of page %d: %w", out.Number, err))
		return
	}
	if setLines(out, lines, widthOf(picture)/out.Width) {
		d.unplaced[out.Number] = true
	}
	d.s.alive()
}

// widthOf is the breadth of a PNG file in pixels.
func widthOf(picture []byte) float64 {
	if len(picture) < 20 {
		return 0
	}
	return float64(uint32(picture[16])<<24 | uint32(picture[17])<<16 | uint32(picture[18])<<8 | uint32(picture[19]))
}

func (o *OCR) read(ctx context.Context, picture []byte) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	run := o.ask
	if len(o.Command) > 0 {
		run = o.run
	}
	answer, err := run(limited, picture)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, connector.Errorf(connector.ClassTransient, "no answer within %v: raise ocr.timeout or lower ocr.dpi", o.Timeout)
	}
	return answer, err
}

// run asks the program.
func (o *OCR) run(ctx context.Context, picture []byte) ([]byte, error) {
	args := append([]string(nil), o.Command[1:]...)
	file := ""
	for i, a := range args {
		if !strings.Contains(a, imageArgument) {
			continue
		}
		if file == "" {
			var err error
			if file, err = temporary(picture); err != nil {
				return nil, err
			}
			defer func() { _ = os.Remove(file) }()
		}
		args[i] = strings.ReplaceAll(a, imageArgument, file)
	}
	cmd := exec.CommandContext(ctx, o.Command[0], args...)
	cmd.WaitDelay = time.Second
	if file == "" {
		cmd.Stdin = bytes.NewReader(picture)
	}
	out, said := &bounded{most: maxAnswer}, &bounded{most: maxMessage}
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			return nil, fmt.Errorf("%s: %w: %s", o.Command[0], err, text)
		}
		return nil, fmt.Errorf("%s: %w", o.Command[0], err)
	}
	return out.Bytes(), nil
}

func temporary(picture []byte) (string, error) {
	f, err := os.CreateTemp("", "kbsync-page-*.png")
	if err != nil {
		return "", err
	}
	_, err = f.Write(picture)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), max(b.most-b.Len(), 0))])
	return len(p), nil
}

// ask asks the service.
func (o *OCR) ask(ctx context.Context, picture []byte) ([]byte, error) {
	body, kind := picture, "image/png"
	if o.Request == "paddleocr" {
		encoded := base64.StdEncoding.EncodeToString(picture)
		var err error
		if body, err = json.Marshal(map[string]any{"file": encoded, "fileType": 1, "images": []string{encoded}}); err != nil {
			return nil, err
		}
		kind = "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json, text/plain")
	if o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+o.Token.Reveal())
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, connector.Errorf(remote.Network(err), "%w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, connector.Errorf(remote.Network(err), "%s: %w", o.URL, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, remote.HTTP(resp.StatusCode, resp.Header, strings.TrimSpace(string(answer[:min(len(answer), maxMessage)])))
	}
	return answer, nil
}
