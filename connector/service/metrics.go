package service

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// metrics are those of one service, in a registry of their own.
type metrics struct {
	registry   *prometheus.Registry
	runs       *prometheus.CounterVec
	duration   prometheus.Histogram
	documents  *prometheus.CounterVec
	chunks     *prometheus.CounterVec
	embeddings *prometheus.CounterVec
	bytes      prometheus.Counter
}

func newMetrics(s *Service, pipelineName, version string) *metrics {
	registry := prometheus.NewRegistry()
	reg := prometheus.WrapRegistererWith(prometheus.Labels{"pipeline": pipelineName}, registry)
	counters := func(name, help, label string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string, value func(st *state) float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() (v float64) {
			s.update(func(st *state) { v = value(st) })
			return v
		}))
	}
	m := &metrics{
		registry:   registry,
		runs:       counters("kbsync_runs_total", "Runs that ended, by outcome.", "outcome"),
		documents:  counters("kbsync_documents_total", "Documents that runs dealt with, by outcome.", "outcome"),
		chunks:     counters("kbsync_chunks_total", "Chunks that runs dealt with, by action.", "action"),
		embeddings: counters("kbsync_embeddings_total", "Vectors that runs needed: computed, or found in the store.", "origin"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kbsync_run_duration_seconds", Help: "How long runs took.",
			Buckets: []float64{.1, .5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600},
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "kbsync_bytes_read_total", Help: "Bytes of documents that were read."}),
	}
	reg.MustRegister(m.duration, m.bytes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "kbsync_runs_missed_total", Help: "Ticks of the schedule that passed while a run was under way or the service was down; one run makes up for all of them.",
	}, func() (v float64) {
		s.update(func(st *state) { v = float64(st.missed) })
		return v
	}))
	gauge("kbsync_run_in_progress", "1 while a run is under way.", func(st *state) float64 { return flag(!st.running.IsZero()) })
	gauge("kbsync_documents", "Documents that are stored, as of the last run.", func(st *state) float64 {
		if st.status == nil {
			return 0
		}
		return float64(st.status.Documents)
	})
	gauge("kbsync_last_success_timestamp_seconds", "When a run last ended well; 0: never.", func(st *state) float64 { return seconds(st.success) })
	gauge("kbsync_last_run_timestamp_seconds", "When the last run ended; 0: there was none.", func(st *state) float64 {
		if st.last == nil {
			return 0
		}
		return seconds(st.last.Ended)
	})
	gauge("kbsync_next_run_timestamp_seconds", "When the next run starts; 0: none is planned.", func(st *state) float64 {
		_, due := st.next(s.file.Sync.Debounce, s.file.Sync.Poll, wall())
		return seconds(due)
	})
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kbsync_build_info", Help: "The program.", ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()}})
	build.Set(1)
	reg.MustRegister(build)
	for _, o := range outcomes {
		m.runs.WithLabelValues(o) // so that a rate of it can be asked for from the beginning
	}
	m.count(new(pipeline.Result))
	return m
}

// ended counts a run.
func (m *metrics) ended(outcome string, took time.Duration, r *pipeline.Result) {
	m.runs.WithLabelValues(outcome).Inc()
	m.duration.Observe(took.Seconds())
	m.count(r)
}

func (m *metrics) count(r *pipeline.Result) {
	add := func(c *prometheus.CounterVec, label string, n int) { c.WithLabelValues(label).Add(float64(n)) }
	d, c := &r.Documents, &r.Chunks
	add(m.documents, "added", d.Added)
	add(m.documents, "updated", d.Updated)
	add(m.documents, "unchanged", d.Unchanged)
	add(m.documents, "moved", d.Moved)
	add(m.documents, "deleted", d.Deleted)
	add(m.documents, "skipped", d.Skipped)
	add(m.documents, "failed", d.Failed)
	add(m.chunks, "upserted", c.Upserted)
	add(m.chunks, "repositioned", c.Repositioned)
	add(m.chunks, "deleted", c.Deleted)
	add(m.chunks, "unchanged", c.Unchanged)
	add(m.embeddings, "computed", r.Embeddings.Computed)
	add(m.embeddings, "cached", r.Embeddings.Cached)
	m.bytes.Add(float64(r.BytesRead))
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds is a time as Prometheus has it.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}
