package openai_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"tokwatt/analyze/analyzetest/casetest"
	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

// TestCases plays every trouble case to the driver, through the runner and
// all formulas, and holds each expected column.
func TestCases(t *testing.T) {
	t.Setenv("TOKWATT_TEST_KEY", "test-key")
	casetest.Run(t, "../../testdata/cases/openai-*/*.json", 60, casetest.Harness{Records: records})
}

func records(ctx context.Context, c *script.Case, url string) iter.Seq2[collect.Record, error] {
	o := openai.Options{URL: url}
	if c.Request.BaseURL != "" {
		o.URL = url + strings.TrimPrefix(c.Request.BaseURL, "http://127.0.0.1:PORT")
	}
	if c.Request.APIKey != "" {
		o.APIKeyEnv = "TOKWATT_TEST_KEY"
	}
	runner := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) {
		return casetest.Words{}, ""
	}}
	return runner.Run(ctx, collect.Job{Driver: openai.Driver{Options: o}, Spec: casetest.Spec(c)})
}
