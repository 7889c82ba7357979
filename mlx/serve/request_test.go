package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tokwatt/mlx/engine"
	"tokwatt/mlx/model"
)

// TestPromptIsTheEngines: a conversation of one turn has the tokens that the
// engine makes of it, and several turns carry that on.
func TestPromptIsTheEngines(t *testing.T) {
	for _, system := range []string{"", "s", "be brief \u00e9"} {
		for _, user := range []string{"", "a a ", "\x00\u20ac"} {
			all := []Message{{"user", user}}
			if system != "" {
				all = append([]Message{{"system", system}}, all...)
			}
			p, err := render(all, nil)
			want := model.EncodeChat(system, user)
			if err != nil || p.ids != nil || p.tokens != len(want) || fmt.Sprint(conversation(system, []Message{{"user", user}})) != fmt.Sprint(want) {
				t.Errorf("%q %q: %+v, %v", system, user, p, err)
			}
		}
	}
	p, err := render([]Message{{"user", "a"}, {"assistant", "b"}, {"tool", "c"}, {"developer", "d"}}, nil)
	want := []int32{256, 258, 'd', 259, 'a', 260, 'b', 257, 259, 'c', 260}
	if err != nil || fmt.Sprint(p.ids) != fmt.Sprint(want) || p.tokens != len(want) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = render([]Message{{"assistant", "b"}}, nil); err != nil || len(p.ids) != 5 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = render([]Message{{"system", "b"}}, nil); err != nil || p.tokens != 5 || p.ids != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

// FuzzParse: whatever a body is, it is read or refused in one of two forms, and
// what is read is within the model.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		asked(3, 2, ""), asked(3, 2, `,"stream":true,"use_prefix_cache":true,"n":1,"stop":null`), `{}`, `[]`, `null`, `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"model":""}`,
		`{"model":"m","messages":[{"role":"system"},{"role":"assistant","content":null}],"max_completion_tokens":9}`, "{\"model\":\"\xff\",\"messages\":[]}", `{"model":"m","messages":null,"max_tokens":1e3}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, bench bool) {
		const context = 1000
		r, err := parse(body, bench, context, nil)
		if err == nil {
			if r.maxTokens < 1 || r.prompt.tokens < 3 || r.maxTokens+r.prompt.tokens > context || bench && !r.banEOS {
				t.Errorf("%+v", r)
			}
			return
		}
		fault, ok := err.(*fault)
		if !ok || fault.status != 400 && fault.status != 422 || fault.message == "" {
			t.Fatalf("%T %v", err, err)
		}
		if said := document(fault.body()); !json.Valid(said) || len(said) > 4000 {
			t.Errorf("%d bytes: %.300s", len(said), said)
		}
	})
}

// FuzzInstance: no instance is taken that can't be told from others.
func FuzzInstance(f *testing.F) {
	c, err := newCard(engine.Load{Model: tiny}, "", false)
	if err != nil {
		f.Fatal(err)
	}
	s := &Server{card: c, node: "n"}
	f.Add([]byte(document(s.place())))
	f.Add([]byte(`{"MlxRingInstance":{"instanceId":"i","shardAssignments":{"modelId":"synthetic:tiny","nodeToRunner":{"n":"r"}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := s.readInstance(raw)
		if err == nil && (in.id == "" || in.runner == "" || !json.Valid(in.raw) || len(in.raw) > maxInstance) {
			t.Errorf("%+v", in)
		}
	})
}

// TestEncode: where somebody makes the tokens, they are what the engine gets.
func TestEncode(t *testing.T) {
	var got []Message
	r := start(t, Options{Encode: func(all []Message) ([]int32, error) {
		got = all
		if all[0].Text == "no" {
			return nil, errors.New("this template has no place for that")
		}
		return []int32{1, 2, 3, 4, 5}, nil
	}})
	code, body := r.do(t, "POST", bench, asked(2, 3, ""))
	if code != 200 || !strings.Contains(body, `"prompt_tokens":5,"generation_tokens":3`) || len(got) != 1 || got[0] != (Message{"user", "aa"}) {
		t.Error(code, body, got)
	}
	if code, body := r.do(t, "POST", bench, strings.Replace(asked(2, 3, ""), "aa", "no", 1)); code != 400 || !strings.Contains(body, "no place for that") {
		t.Error(code, body)
	}
}
