package embedserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const one = `{"model":"org/f:latest","input":"a"}`

// Never more calls at a time than allowed; those who wait are served; one more than can wait is told to come back.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake()
		e.before = func(ctx context.Context, _ []string) error {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		s := server(t, e, Options{Concurrency: 2, Queue: 3, Timeout: time.Minute})
		var wg sync.WaitGroup
		var served, refused atomic.Int64
		for i := range 9 {
			wg.Go(func() {
				w := post(s, "/v1/embeddings", fmt.Sprintf(`{"model":"org/f:latest","input":["a%d","b","c","d"]}`, i)) // two calls
				switch w.Code {
				case http.StatusOK:
					served.Add(1)
					expect(t, "waited", vectors(t, w), [][]float32{vectorOf(fmt.Sprintf("d: a%d", i)), vectorOf("d: b"), vectorOf("d: c"), vectorOf("d: d")})
				case http.StatusTooManyRequests:
					refused.Add(1)
					if got := refusal(t, w); !strings.HasPrefix(got, "429 requests - rate_limit_exceeded: the server works on 5 requests") || w.Header().Get("Retry-After") != "1" {
						t.Error(got, w.Header())
					}
				default:
					t.Error(w.Code, w.Body)
				}
			})
		}
		wg.Wait()
		if served.Load() != 5 || refused.Load() != 4 || e.most != 2 {
			t.Errorf("%d served, %d refused, %d calls at a time", served.Load(), refused.Load(), e.most)
		}
		none := server(t, e, Options{Concurrency: 1, Queue: -1})
		if cap(none.tickets) != 1 {
			t.Error(cap(none.tickets))
		}
	})
}

// A request that takes too long ends, those before it in the queue included.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake()
		e.before = func(ctx context.Context, _ []string) error {
			<-ctx.Done()
			return ctx.Err()
		}
		s := server(t, e, Options{Concurrency: 1, Timeout: time.Second})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if got := refusal(t, post(s, "/v1/embeddings", one)); !strings.HasPrefix(got, "503 server_error - timeout: the request took too much time") {
					t.Error(got)
				}
			})
		}
		wg.Wait()
		e = newFake()
		e.model.RequestsPerMinute = 60
		s = server(t, e, Options{Timeout: 2500 * time.Millisecond})
		start := time.Now()
		for range 3 {
			vectors(t, post(s, "/v1/embeddings", one))
		}
		if took := time.Since(start); took < 2*time.Second {
			t.Errorf("three calls at one a second took %s", took)
		}
		if got := refusal(t, post(s, "/v1/embeddings", `{"model":"org/f:latest","input":["a","b","c","d","e","f","g","h","i","j"]}`)); !strings.HasPrefix(got, "503 server_error - timeout") {
			t.Error(got)
		}
	})
}

// listening serves on a port of this machine until the test ends.
func listening(t *testing.T, s *Server) (address string, drained <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Serve(ctx, l)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return l.Addr().String(), done
}

func client(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// A client that goes away ends the work that was done for it, and only that.
func TestClientGone(t *testing.T) {
	e := newFake()
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	e.before = func(ctx context.Context, texts []string) error {
		if texts[0] != "slow" {
			return nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	s := server(t, e, Options{Concurrency: 1})
	address, _ := listening(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/embeddings", strings.NewReader(`{"model":"org/f:latest","input":"slow"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t)
	gone := make(chan error, 1)
	go func() {
		resp, err := c.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		gone <- err
	}()
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if code, body := ask(t, c, address, one); code != 200 {
		t.Error(code, body)
	}
	for _, body := fetch(t, c, address, "/metrics"); !strings.Contains(body, `status="499"} 1`); _, body = fetch(t, c, address, "/metrics") {
		time.Sleep(time.Millisecond)
	}
}

func ask(t *testing.T, c *http.Client, address, body string) (int, string) {
	t.Helper()
	return do(t, c, http.MethodPost, "http://"+address+"/v1/embeddings", body)
}

func fetch(t *testing.T, c *http.Client, address, path string) (int, string) {
	t.Helper()
	return do(t, c, http.MethodGet, "http://"+address+path, "")
}

func do(t *testing.T, c *http.Client, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	b, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// Draining answers what is under way and takes nothing new; after it the embedder is not used.
func TestDrain(t *testing.T) {
	e := newFake()
	begun, release := make(chan struct{}, 1), make(chan struct{})
	e.before = func(ctx context.Context, _ []string) error {
		begun <- struct{}{}
		<-release
		return ctx.Err()
	}
	drain := make(chan struct{})
	s := server(t, e, Options{Drain: drain})
	address, done := listening(t, s)
	c := client(t)
	if code, body := fetch(t, c, address, "/readyz"); code != 200 {
		t.Error(code, body)
	}
	answered := make(chan int, 1)
	go func() {
		code, _ := ask(t, c, address, one)
		answered <- code
	}()
	<-begun
	close(drain)
	for { // until nobody listens any more
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = conn.Close()
		time.Sleep(time.Millisecond)
	}
	if w := send(s, "GET", "/readyz", ""); w.Code != 503 {
		t.Errorf("ready while it drains: %d", w.Code)
	}
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	close(release)
	if code := <-answered; code != 200 {
		t.Errorf("the request under way: %d", code)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := refusal(t, post(s, "/v1/embeddings", one)); !strings.HasPrefix(got, "503 server_error - unavailable: this server is stopping") {
		t.Error(got)
	}
}

// The end of the context ends the requests as well, and Serve returns only when they have.
func TestStopsAtOnce(t *testing.T) {
	e := newFake()
	begun := make(chan struct{}, 1)
	var over atomic.Bool
	e.before = func(ctx context.Context, _ []string) error {
		begun <- struct{}{}
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		over.Store(true)
		return ctx.Err()
	}
	s := server(t, e, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	c := client(t)
	answered := make(chan struct{})
	go func() {
		ask(t, c, l.Addr().String(), one)
		close(answered)
	}()
	<-begun
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if err := <-done; !errors.Is(err, interrupted) || !over.Load() {
		t.Errorf("%v, the embedder ended: %t", err, over.Load())
	}
	<-answered
}

func TestExposed(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := server(t, newFake(), Options{}).Serve(t.Context(), l); !errors.Is(err, ErrExposed) {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it still listens: %v", err)
	}
	for _, opts := range []Options{{Key: "k"}, {WithoutKey: true}} {
		l, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		drain := make(chan struct{})
		close(drain)
		opts.Drain = drain
		if err := server(t, newFake(), opts).Serve(t.Context(), l); err != nil {
			t.Error(err)
		}
	}
}

// Many clients at once, of both roles, in both formats: each gets the vectors of its own texts.
func TestConcurrent(t *testing.T) {
	s := server(t, newFake(), Options{Queue: 100})
	address, _ := listening(t, s)
	c := client(t)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 5 {
				role, prefix := "document", "d: "
				if (i+j)%2 == 1 {
					role, prefix = "query", "q: "
				}
				a, b := fmt.Sprintf("a %d", i), fmt.Sprintf("b %d", j)
				code, body := ask(t, c, address, fmt.Sprintf(`{"model":"org/f:latest","input":[%q,%q,"c","d"],"input_type":%q}`, a, b, role))
				want := string(appendNumbers(nil, vectorOf(prefix+a))) + `},{"object":"embedding","index":1,"embedding":` + string(appendNumbers(nil, vectorOf(prefix+b)))
				if code != 200 || !strings.Contains(body, want) {
					t.Errorf("%d %s", code, body)
				}
			}
		})
	}
	wg.Wait()
}

// A body that does not come whole holds no place for ever: the connection that breaks off frees it at once.
func TestBrokenBody(t *testing.T) {
	s := server(t, newFake(), Options{Concurrency: 1, Queue: -1})
	address, _ := listening(t, s)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	for len(s.tickets) == 0 {
		time.Sleep(time.Millisecond)
	}
	c := client(t)
	if code, _ := ask(t, c, address, one); code != 429 {
		t.Errorf("beside a body on its way: %d", code)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil { //nolint:forcetypeassert // it is one
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%v, %+v", err, resp)
	}
	_ = resp.Body.Close()
	_ = conn.Close()
	for len(s.tickets) > 0 {
		time.Sleep(time.Millisecond)
	}
	if code, body := ask(t, c, address, one); code != 200 {
		t.Errorf("%d %s", code, body)
	}
}

// The time for the body is no bound of what follows it, and a body that takes longer is given up.
func TestSlowBody(t *testing.T) {
	e := newFake()
	e.before = func(ctx context.Context, _ []string) error {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	s := server(t, e, Options{})
	s.bodyTimeout = 100 * time.Millisecond
	address, _ := listening(t, s)
	c := client(t)
	for range 2 { // on one connection
		if code, body := ask(t, c, address, one); code != 200 {
			t.Errorf("%d %s", code, body)
		}
	}
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/embeddings", r)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		if resp.StatusCode != http.StatusRequestTimeout {
			t.Error(resp.Status)
		}
		_ = resp.Body.Close()
	}
	_ = w.Close()
	for len(s.tickets) > 0 {
		time.Sleep(time.Millisecond)
	}
}
