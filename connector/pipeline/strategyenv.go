package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/kbsync/kbsync/connector"
)

// openStrategy opens a strategy: a rule's, a built-in one, or one that another works over.
func (p *Pipeline) openStrategy(ctx context.Context, c connector.Choice) (connector.Strategy, error) {
	plugin, ok := p.reg.Strategies.Get(c.Kind)
	if !ok {
		return nil, absentError{fmt.Errorf("strategy %q is not in this build", c.Kind)}
	}
	if c.Config == nil {
		c.Config = plugin.Config()
	}
	env, err := p.strategyEnv()
	if err != nil {
		return nil, err
	}
	s, err := plugin.Open(ctx, c.Config, env)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", c.Kind, err)
	}
	return s, nil
}

// strategyEnv is what strategies of this pipeline get.
func (p *Pipeline) strategyEnv() (connector.StrategyEnv, error) {
	env := connector.StrategyEnv{Counter: p.counter, Strategy: p.openStrategy, Vectors: p.vectorizer, LLM: p.languageModel}
	if p.model.MaxInputTokens > 0 {
		c, err := p.counter("model")
		if err != nil {
			return env, err
		}
		env.ModelCap = connector.Cap{Max: p.model.MaxInputTokens, Counter: c}
	}
	return env, nil
}

// absentError says that a build or a configuration lacks something: it is [errors.ErrUnsupported], so that strategies can do without.
type absentError struct{ error }

func (e absentError) Is(target error) bool { return target == errors.ErrUnsupported }
