package ollama_test

import (
	"context"
	"iter"
	"testing"

	"tokwatt/analyze/analyzetest/casetest"
	"tokwatt/collect"
	"tokwatt/collect/ollama"
	"tokwatt/collect/script"
)

// TestCases plays every trouble case to the driver, through the runner and all
// formulas, and holds each expected column.
func TestCases(t *testing.T) {
	casetest.Run(t, "../../testdata/cases/ollama/*.json", 14, casetest.Harness{Records: records, Script: polite})
}

// polite answers what is not measured as Ollama does, and the measured requests
// as the case has them.
func polite(c *script.Case, s *script.Script) {
	answers := s.Answers
	s.PoliteProbes = false
	s.Answer = func(r script.Request) script.Answer {
		if r.MaxTokens() == 1 {
			return script.OllamaTokens{N: 1, Model: c.Request.Model, Prompt: r.PromptTokens()}.Body()
		}
		return answers[min(r.N, len(answers)-1)]
	}
}

func records(ctx context.Context, c *script.Case, url string) iter.Seq2[collect.Record, error] {
	runner := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) {
		return casetest.Words{}, ""
	}}
	return runner.Run(ctx, collect.Job{Driver: ollama.Driver{Options: ollama.Options{URL: url}}, Spec: casetest.Spec(c)})
}
