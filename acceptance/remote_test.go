package acceptance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sinktest"
)

// The remote sink is a process of its own and as unkind as a database can be: batches are not atomic, answers get lost
// after the work was done, and reads are behind writes until a flush.

// lag is how far reads are behind writes.
const lag = 30 * time.Millisecond

// server keeps two reference sinks: head has every write, tail what reads see.
type server struct {
	mu         sync.Mutex
	head, tail *sinktest.Memory
	queue      []pending
	rng        *rand.Rand
	faults     bool
}

type pending struct {
	at    time.Time
	apply func(*sinktest.Memory) error
}

// Call is one request: an operation with whatever it needs.
type Call struct {
	Op      string
	Schema  connector.Schema
	Name    string
	Points  []connector.Point
	Records []connector.Record
	IDs     []string
	Vectors bool
	After   string
	Query   connector.Query
}

// Reply is one answer. Err is set for errors with their class; Failed for errors by item.
type Reply struct {
	Err     string
	Class   connector.Class
	Failed  map[string]string
	Schemas []connector.Schema
	Points  []connector.Point
	Hits    []connector.Hit
	Text    string
	N       int
}

const scanPage = 100

// serveSink runs the server until its socket is removed or its parent dies.
func serveSink(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := &server{head: sinktest.NewMemory(), tail: sinktest.NewMemory(), rng: rand.New(rand.NewPCG(1, 2))}
	srv := rpc.NewServer()
	if err := srv.RegisterName("Sink", &service{s}); err != nil {
		return err
	}
	go func() { // a test that ends without ending its server must not leave it behind
		for parent := os.Getppid(); os.Getppid() == parent; {
			time.Sleep(200 * time.Millisecond)
		}
		os.Exit(0)
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go srv.ServeCodec(&lossy{ServerCodec: jsonrpc.NewServerCodec(conn), s: s, conn: conn})
	}
}

// lossy drops the connection in place of some answers.
type lossy struct {
	rpc.ServerCodec
	s    *server
	conn net.Conn
}

func (l *lossy) WriteResponse(r *rpc.Response, body any) error {
	if rep, ok := body.(*Reply); ok && rep.Err == "lose this answer" {
		return l.conn.Close()
	}
	return l.ServerCodec.WriteResponse(r, body)
}

type service struct{ s *server }

// Do serves one call.
func (v *service) Do(c *Call, r *Reply) error {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if err := v.s.do(context.Background(), c, r); err != nil {
		r.Err, r.Class = err.Error(), connector.ClassOf(err)
		var be *connector.BatchError
		if errors.As(err, &be) {
			r.Failed = map[string]string{}
			for i, e := range be.Items {
				r.Failed[fmt.Sprint(i)] = fmt.Sprintf("%d %s", connector.ClassOf(e), e)
			}
		}
	}
	return nil
}

// settleReads lets tail catch up with what is older than the lag, or with everything.
func (s *server) settleReads(all bool) {
	n := 0
	for _, p := range s.queue {
		if !all && time.Since(p.at) < lag {
			break
		}
		_ = p.apply(s.tail)
		n++
	}
	s.queue = s.queue[n:]
}

func (s *server) write(apply func(*sinktest.Memory) error) error {
	s.queue = append(s.queue, pending{time.Now(), apply})
	return apply(s.head)
}

func (s *server) do(ctx context.Context, c *Call, r *Reply) (err error) {
	s.settleReads(c.Op == "flush")
	live := func(m *sinktest.Memory) (connector.Collection, error) { return m.Create(ctx, c.Schema) }
	switch c.Op {
	case "faults":
		s.faults = c.Name == "on"
	case "reset":
		s.head, s.tail, s.queue = sinktest.NewMemory(), sinktest.NewMemory(), nil
	case "generations":
		r.Schemas, err = s.head.Generations(ctx)
	case "create":
		return s.write(func(m *sinktest.Memory) error { _, err := m.Create(ctx, c.Schema); return err })
	case "live":
		coll, err := s.head.Live(ctx)
		if err == nil {
			r.Schemas = []connector.Schema{coll.Schema()}
		} else if errors.Is(err, connector.ErrNoCollection) {
			r.Text = "none"
		}
		return err
	case "promote":
		return s.write(func(m *sinktest.Memory) error { return m.Promote(ctx, c.Name) })
	case "drop":
		return s.write(func(m *sinktest.Memory) error { return m.Drop(ctx, c.Name) })
	case "flush":
	case "upsert", "payload", "delete":
		return s.change(ctx, c, live)
	default:
		return s.read(ctx, c, r, live)
	}
	return err
}

// change applies a write, or half of it, and may lose the answer.
func (s *server) change(ctx context.Context, c *Call, live func(*sinktest.Memory) (connector.Collection, error)) error {
	half := s.faults && s.rng.IntN(6) == 0
	apply := func(m *sinktest.Memory) error {
		coll, err := live(m)
		if err != nil {
			return err
		}
		switch c.Op {
		case "upsert":
			return coll.Upsert(ctx, part(c.Points, half))
		case "payload":
			return coll.UpdatePayload(ctx, part(c.Records, half))
		}
		return coll.Delete(ctx, part(c.IDs, half))
	}
	err := s.write(apply)
	switch {
	case err != nil:
		return err
	case half:
		return connector.Errorf(connector.ClassTransient, "half of the batch was applied")
	case s.faults && s.rng.IntN(6) == 0:
		return errors.New("lose this answer")
	}
	return nil
}

func part[T any](items []T, half bool) []T {
	if half {
		return items[:len(items)/2]
	}
	return items
}

func (s *server) read(ctx context.Context, c *Call, r *Reply, live func(*sinktest.Memory) (connector.Collection, error)) error {
	source := s.tail
	if c.Op == "marker" {
		source = s.head
	}
	coll, err := live(source)
	if err != nil {
		return err
	}
	switch c.Op {
	case "marker":
		r.Text, err = coll.Marker(ctx)
	case "count":
		r.N, err = coll.Count(ctx)
	case "fetch":
		r.Points, err = coll.Fetch(ctx, c.IDs, c.Vectors)
	case "search":
		r.Hits, err = coll.Search(ctx, c.Query)
	case "scan":
		for pt, serr := range coll.Scan(ctx, c.Vectors) {
			if serr != nil {
				return serr
			}
			if pt.ChunkID > c.After {
				r.Points = append(r.Points, pt)
			}
			if len(r.Points) == scanPage {
				break
			}
		}
	default:
		return fmt.Errorf("no operation %q", c.Op)
	}
	return err
}

// remote is the client: a connector.Sink over the socket.
type remote struct {
	socket string
	mu     sync.Mutex
	client *rpc.Client
}

func (m *remote) call(c Call) (*Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == nil {
		conn, err := net.Dial("unix", m.socket)
		if err != nil {
			return nil, connector.Errorf(connector.ClassTransient, "remote: %w", err)
		}
		m.client = jsonrpc.NewClient(conn)
	}
	var r Reply
	if err := m.client.Call("Sink.Do", &c, &r); err != nil {
		_ = m.client.Close()
		m.client = nil
		return nil, connector.Errorf(connector.ClassTransient, "remote: %w", err)
	}
	if r.Failed != nil {
		be := &connector.BatchError{Items: map[int]error{}}
		for i, text := range r.Failed {
			var n, class int
			_, _ = fmt.Sscan(i, &n)
			_, _ = fmt.Sscan(text, &class)
			be.Items[n] = connector.Errorf(connector.Class(class), "remote: %s", text)
		}
		return nil, be
	}
	if r.Text == "none" {
		return nil, connector.ErrNoCollection
	}
	if r.Err != "" {
		return nil, connector.Errorf(r.Class, "remote: %s", r.Err)
	}
	return &r, nil
}

func (m *remote) Capabilities() connector.SinkCapabilities {
	return connector.SinkCapabilities{MaxBatchItems: 7, Payload: true, Scan: true, Concurrency: 2, Modes: []connector.SearchMode{connector.ModeDense}}
}

func (m *remote) Target() connector.Target {
	return connector.Target{Kind: "remote", Address: m.socket, Collection: "test"}
}

func (m *remote) Generations(context.Context) ([]connector.Schema, error) {
	r, err := m.call(Call{Op: "generations"})
	if err != nil {
		return nil, err
	}
	return r.Schemas, nil
}

func (m *remote) Create(_ context.Context, s connector.Schema) (connector.Collection, error) {
	_, err := m.call(Call{Op: "create", Schema: s})
	return &remoteCollection{m, s}, err
}

func (m *remote) Live(context.Context) (connector.Collection, error) {
	r, err := m.call(Call{Op: "live"})
	if err != nil {
		return nil, err
	}
	return &remoteCollection{m, r.Schemas[0]}, nil
}

func (m *remote) Promote(_ context.Context, g string) error {
	_, err := m.call(Call{Op: "promote", Name: g})
	return err
}

func (m *remote) Drop(_ context.Context, g string) error {
	_, err := m.call(Call{Op: "drop", Name: g})
	return err
}

func (m *remote) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == nil {
		return nil
	}
	return m.client.Close()
}

type remoteCollection struct {
	m *remote
	s connector.Schema
}

func (c *remoteCollection) Schema() connector.Schema { return c.s }

func (c *remoteCollection) do(call Call) (*Reply, error) {
	call.Schema = c.s
	return c.m.call(call)
}

func (c *remoteCollection) Marker(context.Context) (string, error) {
	r, err := c.do(Call{Op: "marker"})
	if err != nil {
		return "", err
	}
	return r.Text, nil
}

func (c *remoteCollection) Upsert(_ context.Context, p []connector.Point) error {
	_, err := c.do(Call{Op: "upsert", Points: p})
	return err
}

func (c *remoteCollection) UpdatePayload(_ context.Context, r []connector.Record) error {
	_, err := c.do(Call{Op: "payload", Records: r})
	return err
}

func (c *remoteCollection) Delete(_ context.Context, ids []string) error {
	_, err := c.do(Call{Op: "delete", IDs: ids})
	return err
}

func (c *remoteCollection) Fetch(_ context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	r, err := c.do(Call{Op: "fetch", IDs: ids, Vectors: vectors})
	if err != nil {
		return nil, err
	}
	return r.Points, nil
}

func (c *remoteCollection) Scan(_ context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		after := ""
		for {
			r, err := c.do(Call{Op: "scan", Vectors: vectors, After: after})
			if err != nil {
				yield(connector.Point{}, err)
				return
			}
			for _, pt := range r.Points {
				if !yield(pt, nil) {
					return
				}
				after = pt.ChunkID
			}
			if len(r.Points) < scanPage {
				return
			}
		}
	}
}

func (c *remoteCollection) Count(context.Context) (int, error) {
	r, err := c.do(Call{Op: "count"})
	if err != nil {
		return 0, err
	}
	return r.N, nil
}

func (c *remoteCollection) Flush(context.Context) error {
	_, err := c.do(Call{Op: "flush"})
	return err
}

func (c *remoteCollection) Search(_ context.Context, q connector.Query) ([]connector.Hit, error) {
	r, err := c.do(Call{Op: "search", Query: q})
	if err != nil {
		return nil, err
	}
	return r.Hits, nil
}
