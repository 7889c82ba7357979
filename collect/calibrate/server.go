package calibrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/script"
)

// marker is the environment variable that makes a process a server.
const marker = "TOKWATT_CALIBRATION_SERVER"

// RunIfServer does the work of a server in a process that Run made, and never
// returns there; in any other it returns at once. It must be among the first
// calls of main, and of TestMain where tests calibrate.
func RunIfServer() {
	if os.Getenv(marker) == "" {
		return
	}
	// Ctrl-C goes to every process of the terminal. The parent decides what
	// it ends: it closes our input, which also happens when it dies.
	signal.Ignore(os.Interrupt)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// exchange is what the log says of one answer.
type exchange struct {
	N    int             `json:"n"`
	Sent []time.Duration `json:"sent"` // of each token, from when the request came in
}

// serve writes its address to out, answers until in ends, and writes its log.
func serve(in io.Reader, out io.Writer) error {
	clock := collect.NewClock()
	srv, err := script.Listen("127.0.0.1:0", script.Script{
		Model: model, PoliteProbes: true,
		Answer: func(r script.Request) script.Answer {
			return script.Tokens{N: tokens, Prefill: prefill, Step: step, Model: model, Prompt: r.PromptTokens(), First: fmt.Sprintf("%d ", r.N)}.Stream()
		},
		Arrivals: func(c net.Conn) (io.Reader, func() time.Duration) {
			s := collect.NewStampedReader(clock, c)
			return s, func() time.Duration { return time.Duration(clock.Now() - s.At()) }
		},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, srv.URL())
	io.Copy(io.Discard, in)
	srv.Close()
	log := []exchange{}
	for _, x := range srv.Log() {
		if x.Method == "POST" && x.MaxTokens() == tokens && len(x.Sent) >= tokens {
			log = append(log, exchange{x.N, x.Sent[:tokens]})
		}
	}
	return json.NewEncoder(out).Encode(log)
}

// server is a running server process, seen from its parent.
type server struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
	words bytes.Buffer // what it wrote to stderr
}

// startServer makes a server process, which dies with ctx, and waits for its
// address.
func startServer(ctx context.Context) (*server, error) {
	if os.Getenv(marker) != "" {
		return nil, errors.New("this is a calibration's server itself: main and TestMain must call calibrate.RunIfServer first")
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.CommandContext(ctx, exe)}
	s.cmd.Args = []string{"tokwatt-calibration"} // as ps shows it
	s.cmd.Env = append(os.Environ(), marker+"=1")
	s.cmd.Stderr = &s.words
	s.cmd.WaitDelay = time.Second
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(stdout)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the calibration's server can't be started: %w", err)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.kill()
		return nil, s.died(ctx, err)
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

// finish ends the server and returns when it sent the tokens of each answer.
func (s *server) finish() (map[int][]time.Duration, error) {
	s.stdin.Close()
	var log []exchange
	if err := json.NewDecoder(s.out).Decode(&log); err != nil {
		s.kill()
		return nil, s.died(context.Background(), err)
	}
	if err := s.cmd.Wait(); err != nil {
		return nil, s.died(context.Background(), err)
	}
	sent := map[int][]time.Duration{}
	for _, x := range log {
		sent[x.N] = x.Sent
	}
	return sent, nil
}

// kill ends the server, if it runs.
func (s *server) kill() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait() // how it ended is known
	}
}

// died says why there is no server. It has ended.
func (s *server) died(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if words := strings.TrimSpace(s.words.String()); words != "" {
		return fmt.Errorf("the calibration's server failed: %s", words)
	}
	return fmt.Errorf("the calibration's server ended without its log: %w", err)
}
