//go:build amd64 || arm64

package collect

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestSegments: segments that wait for the reader, and that the kernel did not
// join, are read one by one, each with its own stamp. It joins none that the
// sender still holds, so acknowledgements are put off.
func TestSegments(t *testing.T) {
	for range 10 { // they are not put off for ever
		if segments(t) > 1 {
			return
		}
	}
	t.Error("all segments came as one, each time")
}

// segments is how many reads it took.
func segments(t *testing.T) (reads int) {
	clock := NewClock()
	s, far := stamped(t, clock)
	raw, err := s.r.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 0) })
	if err != nil {
		t.Fatal(err)
	}
	far.SetNoDelay(true)
	sizes := []int{300, 1, 200, 200, 7, 210, 3000, 2, 2, 2}
	sent := make([]int64, len(sizes))
	for i, n := range sizes {
		sent[i] = clock.Now()
		if _, err := far.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	far.Close()
	var read int
	ends, total := map[int]int{}, 0 // the number of bytes behind each segment
	for i, n := range sizes {
		total += n
		ends[total] = i
	}
	buf := make([]byte, 4096)
	for {
		n, err := s.Read(buf)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		read += n
		i, whole := ends[read]
		if !whole {
			t.Errorf("a read ended at byte %d, in a segment", read)
			continue
		}
		reads++
		if at := s.At(); at < sent[i]-int64(sameOffset) || i+1 < len(sent) && at > sent[i+1]+int64(sameOffset) {
			t.Errorf("segment %d: stamped %d, sent at %d", i, at, sent[i])
		}
	}
	if read != total {
		t.Errorf("%d of %d bytes", read, total)
	}
	return reads
}
