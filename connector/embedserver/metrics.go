package embedserver

import (
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are those of one server, in a registry of their own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	texts    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	duration prometheus.Histogram
}

func newMetrics(s *Server) *metrics {
	registry := prometheus.NewRegistry()
	reg := prometheus.WrapRegistererWith(prometheus.Labels{"model": s.model.Provider + "/" + s.model.Name}, registry)
	counters := func(name, help, label string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	m := &metrics{
		registry: registry,
		requests: counters("kbsync_embed_requests_total", "Requests for embeddings that ended, by HTTP status; 499: the client did not wait.", "status"),
		texts:    counters("kbsync_embed_texts_total", "Texts that were embedded, by what they are for.", "input_type"),
		tokens:   counters("kbsync_embed_tokens_total", "Tokens of these texts, by the model's counter.", "input_type"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kbsync_embed_request_duration_seconds", Help: "How long requests took that were answered with vectors.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
	}
	reg.MustRegister(m.duration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge("kbsync_embed_requests_in_progress", "Requests that are worked on or wait.", func() float64 { return float64(len(s.tickets)) })
	gauge("kbsync_embed_requests_limit", "How many there may be; one more is answered 429.", func() float64 { return float64(cap(s.tickets)) })
	gauge("kbsync_embed_calls_in_progress", "Calls of the embedder under way.", func() float64 { return float64(len(s.slots)) })
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kbsync_build_info", Help: "The program.", ConstLabels: prometheus.Labels{"version": s.opts.Version, "goversion": runtime.Version()}})
	build.Set(1)
	reg.MustRegister(build)
	for _, r := range []Role{Document, Query} {
		m.texts.WithLabelValues(r.String()) // so that a rate of it can be asked for from the beginning
		m.tokens.WithLabelValues(r.String())
	}
	m.requests.WithLabelValues("200")
	return m
}

// ended counts a request.
func (m *metrics) ended(status int, took time.Duration, res result) {
	m.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	if status != 200 {
		return
	}
	m.duration.Observe(took.Seconds())
	m.texts.WithLabelValues(res.role.String()).Add(float64(len(res.tokens)))
	m.tokens.WithLabelValues(res.role.String()).Add(float64(sum(res.tokens)))
}
