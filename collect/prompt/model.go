package prompt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/prompt/source"
	"tokwatt/collect/prompt/template"
	"tokwatt/collect/prompt/tokenizer"
)

// A Model is a model's own tokenizer and chat template, read from its files.
// Loading one takes up to a second, so it is done once for all engines.
type Model struct {
	Path      string  // the folder or file
	EOS       []int64 // ids of the end tokens
	Dated     bool    // the chat template writes the date into the prompt
	tokenizer *tokenizer.Tokenizer
	chat      Chat
	template  *template.Template
	begin     string // what the engine puts in front where the template does not
}

// InexactError is a model whose prompts can't be counted here as its engine
// counts them. Lengths can still be had by calibration.
type InexactError struct {
	Err error // names what it is that can't be done
}

func (e *InexactError) Error() string { return e.Err.Error() }
func (e *InexactError) Unwrap() error { return e.Err }

// Open reads a model by a folder, a GGUF file or a model id in the hub's cache
// on this machine. today is the date for chat templates that write one; a
// session is best measured with one date. What exists but can't be counted
// exactly is an *InexactError; the error of what is not there wraps
// fs.ErrNotExist.
//
// A model's files may be anybody's: whatever they hold, Open returns when ctx
// ends and after openTime at the latest, that with an *InexactError too.
func Open(ctx context.Context, ref string, today time.Time) (*Model, error) {
	return within(ctx, ref, func() (*Model, error) { return load(ref, today) })
}

// openTime is how long the reading of a model's files may take. Of the largest
// known it is a second.
const openTime = 20 * time.Second

// within waits for a loading. One that is given up ends by itself, at the
// bounds of what it reads.
func within(ctx context.Context, ref string, load func() (*Model, error)) (*Model, error) {
	type result struct {
		m   *Model
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- result{nil, &InexactError{Err: fmt.Errorf("the files of the model %s can't be read: the reader stops at them (%v)", ref, p)}}
			}
		}()
		m, err := load()
		done <- result{m, err}
	}()
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.m, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, &InexactError{Err: fmt.Errorf("the files of the model %s take more than %v to read", ref, openTime)}
	}
}

func load(ref string, today time.Time) (*Model, error) {
	m, err := open(ref, today)
	var model *source.UnsupportedError
	var chat *template.UnsupportedError
	var refused *template.RefusedError
	var tokens *tokenizer.UnsupportedError
	if errors.As(err, &model) || errors.As(err, &chat) || errors.As(err, &refused) || errors.As(err, &tokens) {
		err = &InexactError{Err: err}
	}
	return m, err
}

func open(ref string, today time.Time) (*Model, error) {
	files, err := source.Open(ref)
	if err != nil {
		return nil, err
	}
	chat, err := files.Template(today)
	if err != nil {
		return nil, err
	}
	if _, err := chat.Render("", "x"); err != nil {
		return nil, err
	}
	tok, err := files.Tokenizer()
	if err != nil {
		return nil, err
	}
	m := &Model{Path: files.Path, EOS: files.EOS, tokenizer: tok, chat: chat, template: chat}
	_, m.Dated = chat.Date()
	if files.AddBOS && files.Special.BOS != "" {
		m.begin = files.Special.BOS
		m.chat = begun{chat, m.begin}
	}
	return m, nil
}

// Exact makes a prompter of the model.
func (m *Model) Exact(opts ExactOptions) (*Exact, error) {
	return NewExact(m.tokenizer, m.chat, opts)
}

// Encode is the tokens of a prompt, as its engine would make them.
func (m *Model) Encode(p collect.Prompt) ([]int32, error) {
	text, err := m.chat.Render(p.System, p.User)
	if err != nil {
		return nil, err
	}
	return encoded(m.tokenizer, text)
}

// Turn is a message of a conversation.
type Turn = template.Message

// EncodeTurns is the tokens of a conversation, up to where the model begins to
// speak.
func (m *Model) EncodeTurns(turns []Turn) ([]int32, error) {
	text, err := m.template.Conversation(turns)
	if err != nil {
		return nil, err
	}
	return encoded(m.tokenizer, inFront(m.begin, text))
}

// Decoder makes text of the tokens of an answer.
func (m *Model) Decoder() *tokenizer.Decoder { return m.tokenizer.Decoder() }

// begun is a Chat whose engine puts a token in front where the template does
// not, as llama.cpp does.
type begun struct {
	chat  Chat
	token string
}

func (b begun) Render(system, user string) (string, error) {
	text, err := b.chat.Render(system, user)
	if err != nil {
		return text, err
	}
	return inFront(b.token, text), nil
}

// inFront puts a token in front of a text, unless it is there.
func inFront(token, text string) string {
	if strings.HasPrefix(text, token) {
		return text
	}
	return token + text
}
