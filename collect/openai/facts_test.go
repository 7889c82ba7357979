package openai_test

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"tokwatt/collect"
	"tokwatt/collect/openai"
)

// TestFactsAreShowable: nothing that is stored of what a server says of itself
// has a secret of ours, or a character that changes how others are shown.
func TestFactsAreShowable(t *testing.T) {
	const evil = `a\u001b[2J\u202e SEKRIT-key \ufeff`
	t.Setenv("TOKWATT_TEST_KEY", "SEKRIT-key")
	for _, srv := range []*alike{
		{models: `{"id":"m","owned_by":"vllm","quantization":"` + evil + `","compatibility_type":"` + evil + `","meta":{"ftype":"` + evil + `"}}`, get: map[string]string{"/version": `{"version":"` + evil + `"}`}},
		{models: `{"id":"m","owned_by":"llamacpp","meta":{"ftype":"` + evil + `"}}`, get: map[string]string{"/props": `{"build_info":"` + evil + `"}`}},
		{server: "BaseHTTP/0.6", models: `{"id":"m"}`, get: map[string]string{"/health": `{"status":"ok"}`}, extra: `"system_fingerprint":"SEKRIT-key\u202e-x",`},
	} {
		web := httptest.NewServer(srv)
		tg := target(t, openai.Options{URL: web.URL, APIKeyEnv: "TOKWATT_TEST_KEY"}, "m")
		if _, err := tg.Open(t.Context(), collect.NewClock()); err != nil {
			t.Fatal(err)
		}
		info, err := tg.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		web.Close()
		v := reflect.ValueOf(info)
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.String {
				continue
			}
			text := v.Field(i).String()
			odd := strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) })
			if odd || strings.Contains(text, "SEKRIT") {
				t.Errorf("%s is %q", v.Type().Field(i).Name, text)
			}
		}
	}
}
