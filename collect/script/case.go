package script

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Case is a trouble case: what a server does, what to ask it, and what must
// come out.
type Case struct {
	ID      string                     `json:"id"`
	Kind    string                     `json:"kind"`
	Title   string                     `json:"title"`
	Server  CaseServer                 `json:"server"`
	Request CaseRequest                `json:"request"`
	Expect  map[string]json.RawMessage `json:"expect"`
	Why     string                     `json:"why"`
}

// CaseRequest is what the client is told to do.
type CaseRequest struct {
	API            string `json:"api"`
	Stream         bool   `json:"stream"`
	Model          string `json:"model"`
	PP             int64  `json:"pp"`
	TG             int64  `json:"tg"`
	Concurrency    int64  `json:"concurrency"`
	Repeats        int    `json:"repeats"`
	BaseURL        string `json:"base_url"` // with PORT for the port
	APIKey         string `json:"api_key"`
	UsePrefixCache bool   `json:"use_prefix_cache"`
}

// CaseServer is the script of a case as its file has it.
type CaseServer struct {
	CaseAnswer
	Script       []CaseAnswer               `json:"script"`
	OnlyPath     string                     `json:"only_path"`
	RequireAuth  string                     `json:"require_auth"`
	RejectFields []string                   `json:"reject_fields"`
	RejectStatus int                        `json:"reject_status"`
	Get          map[string]json.RawMessage `json:"get"`
	Redirect     *struct {
		From   string `json:"from"`
		To     string `json:"to"`
		Status int    `json:"status"`
	} `json:"redirect"`
}

// CaseAnswer is an answer as a case has it; times are in milliseconds.
type CaseAnswer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	HTTP    string            `json:"http"`
	Framing Framing           `json:"framing"`
	HeadAt  float64           `json:"head_at_ms"`
	Chunks  []CaseChunk       `json:"chunks"`
	End     string            `json:"end"`
	EndAt   float64           `json:"end_at_ms"`
}

// CaseChunk is a piece, or several alike.
type CaseChunk struct {
	At    float64 `json:"at_ms"`
	Text  string  `json:"text"`
	B64   string  `json:"b64"`
	Times int     `json:"times"`
	Every float64 `json:"every_ms"`
	Fill  *struct {
		Mark  string `json:"mark"`
		Unit  string `json:"unit"`
		Times int    `json:"times"`
	} `json:"fill"`
}

// ReadCase reads a case file.
func ReadCase(file string) (*Case, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the case can't be read: %w", err)
	}
	var c Case
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("%s is no case: %w", file, err)
	}
	return &c, nil
}

// Play is the script of the case.
func (c *Case) Play() (Script, error) {
	sv := c.Server
	s := Script{Model: c.Request.Model, Get: sv.Get, OnlyPath: sv.OnlyPath, RequireAuth: sv.RequireAuth,
		RejectFields: sv.RejectFields, RejectStatus: sv.RejectStatus}
	if r := sv.Redirect; r != nil {
		s.Redirect = &Redirect{From: r.From, To: r.To, Status: r.Status}
	}
	answers := sv.Script
	if len(answers) == 0 {
		answers = []CaseAnswer{sv.CaseAnswer}
	}
	for _, ca := range answers {
		a, err := ca.answer()
		if err != nil {
			return Script{}, fmt.Errorf("case %s: %w", c.ID, err)
		}
		s.Answers = append(s.Answers, a)
	}
	return s, nil
}

func (c CaseAnswer) answer() (Answer, error) {
	a := Answer{Status: c.Status, HTTP10: c.HTTP == "1.0", Framing: c.Framing, HeadAt: ms(c.HeadAt), EndAt: ms(c.EndAt), End: End(c.End)}
	if c.End == "close" {
		a.End = EndClose
	}
	for name, value := range c.Headers {
		a.Headers = append(a.Headers, Header{name, value})
	}
	slices.SortFunc(a.Headers, func(x, y Header) int { return strings.Compare(x.Name, y.Name) })
	for _, ch := range c.Chunks {
		data, err := ch.data()
		if err != nil {
			return a, err
		}
		for i := range max(1, ch.Times) {
			a.Pieces = append(a.Pieces, Piece{At: ms(ch.At + float64(i)*ch.Every), Data: data})
		}
	}
	slices.SortStableFunc(a.Pieces, func(x, y Piece) int { return int(x.At - y.At) })
	return a, nil
}

func (c CaseChunk) data() ([]byte, error) {
	if c.B64 != "" {
		data, err := base64.StdEncoding.DecodeString(c.B64)
		if err != nil {
			return nil, fmt.Errorf("a chunk is no base64: %w", err)
		}
		return data, nil
	}
	text := c.Text
	if f := c.Fill; f != nil {
		text = strings.ReplaceAll(text, f.Mark, strings.Repeat(f.Unit, f.Times))
	}
	return []byte(text), nil
}

func ms(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
