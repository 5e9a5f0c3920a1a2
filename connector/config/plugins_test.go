package config

import (
	"context"
	"errors"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

type fsConfig struct {
	Root    string   `yaml:"root" doc:"the folder" required:"true"`
	Include []string `yaml:"include" doc:"globs"`
	Hidden  bool     `yaml:"hidden"`
	MaxSize int64    `yaml:"max_size" format:"size"`
}

type dbConfig struct {
	Address  string            `yaml:"address" doc:"host:port"`
	Password connector.Secret  `yaml:"password"`
	Port     int               `yaml:"port"`
	Ratio    float64           `yaml:"ratio"`
	Mode     string            `yaml:"mode" enum:"fast,exact"`
	Labels   map[string]string `yaml:"labels"`
	Limits   limits            `yaml:"limits"`
	inner    `yaml:",inline"`
}

type limits struct {
	Items uint16 `yaml:"items"`
}

type inner struct {
	Tenant string `yaml:"tenant"`
}

func (c *dbConfig) Validate() error {
	if c.Port == 1 {
		return errors.New("port 1 of " + c.Address + " is not allowed")
	}
	return nil
}

type cutConfig struct {
	Max     int `yaml:"max_tokens"`
	Overlap int `yaml:"overlap"`
}

func (c *cutConfig) Validate() error {
	var errs []error
	if c.Max <= 0 {
		errs = append(errs, errors.New("max_tokens must be above 0"))
	}
	if c.Overlap >= c.Max {
		errs = append(errs, errors.New("overlap must be below max_tokens"))
	}
	return errors.Join(errs...)
}

// testRegistry has plugins with the shapes that real ones have; none can be opened.
func testRegistry(tb testing.TB) *connector.Registry {
	tb.Helper()
	reg := &connector.Registry{}
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	must(reg.Sources.Add("fs", fake[fsConfig, connector.Env, connector.Source]("fs", fsConfig{Include: []string{"**/*"}})))
	must(reg.Sources.Add("git", fake[fsConfig, connector.Env, connector.Source]("git", fsConfig{})))
	must(reg.Strategies.Add("markdown", fake[cutConfig, connector.StrategyEnv, connector.Strategy]("markdown", cutConfig{Max: 512})))
	must(reg.Strategies.Add("code", fake[cutConfig, connector.StrategyEnv, connector.Strategy]("code", cutConfig{Max: 800})))
	must(reg.Embedders.Add("lexical", fake[struct{}, connector.Env, connector.Embedder]("lexical", struct{}{})))
	must(reg.Sinks.Add("sqlite", fake[cutConfig, connector.Env, connector.Sink]("sqlite", cutConfig{Max: 1})))
	must(reg.Sinks.Add("db", fake[dbConfig, connector.Env, connector.Sink]("db", dbConfig{Mode: "fast", Limits: limits{Items: 7}})))
	return reg
}

func fake[C, E, T any](kind string, defaults C) connector.Plugin[E, T] {
	return connector.Define(kind, "A "+kind+" for tests.", defaults, func(context.Context, *C, E) (T, error) {
		var zero T
		return zero, errors.New("not to be opened")
	})
}
