package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/google/uuid"
)

// kind says what a value holds. The numbers are part of the format: a new
// kind takes a new number, and no number is used twice.
type kind byte

const (
	kindSession     kind = 1
	kindSegment     kind = 2
	kindTarget      kind = 3
	kindCase        kind = 4
	kindBatch       kind = 5 // its requests follow it
	kindRequest     kind = 6 // its chunks follow it, if it has any
	kindChunks      kind = 7
	kindEnd         kind = 8
	kindSamples     kind = 9
	kindSensors     kind = 10
	kindIdle        kind = 11
	kindLost        kind = 12
	kindSummary     kind = 16
	kindFormat      kind = 17
	kindCalibration kind = 18
)

// known reports whether this program knows the kind, in some version.
func (k kind) known() bool {
	return kindSession <= k && k <= kindLost || kindSummary <= k && k <= kindCalibration
}

// valueVersion is the version of every kind. It goes up when an old program
// would misread a value; a field that is added to the CBOR map is skipped by
// old programs, so it needs no new version.
const valueVersion = 1

// overhead is what a value has beside its payload: kind, version, checksum.
const overhead = 2 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal makes the value that stands at key: kind, version, payload and the
// CRC-32C of key and all of that. With the key in the sum, a value that turns
// up in a wrong place is known to be wrong.
func seal(key []byte, k kind, payload []byte) []byte {
	v := make([]byte, 0, overhead+len(payload))
	v = append(v, byte(k), valueVersion)
	v = append(v, payload...)
	return binary.LittleEndian.AppendUint32(v, checksum(key, v))
}

func checksum(key, v []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, v)
}

var (
	errChecksum = errors.New("its checksum is wrong")
	errVersion  = errors.New("written by a newer tokwatt")
)

// unseal checks the value at key and takes it apart. The error is errChecksum
// or wraps errVersion.
func unseal(key, v []byte) (kind, []byte, error) {
	n := len(v) - 4
	if n < 2 || checksum(key, v[:n]) != binary.LittleEndian.Uint32(v[n:]) {
		return 0, nil, errChecksum
	}
	if v[1] > valueVersion && kind(v[0]).known() {
		return kind(v[0]), nil, fmt.Errorf("%w (kind %d, version %d)", errVersion, v[0], v[1])
	}
	return kind(v[0]), v[2:n], nil
}

// recordKey is the key of a session's seq-th value.
type recordKey [24]byte

func keyOf(id uuid.UUID, seq uint64) recordKey {
	var k recordKey
	copy(k[:], id[:])
	binary.BigEndian.PutUint64(k[16:], seq)
	return k
}

// parseKey takes a key of bucket records apart.
func parseKey(k []byte) (id uuid.UUID, seq uint64, ok bool) {
	if len(k) != len(recordKey{}) {
		return id, 0, false
	}
	copy(id[:], k)
	return id, binary.BigEndian.Uint64(k[16:]), true
}

// parseID reads a session id in its canonical form, the only one that is
// stored: an id that came back in another spelling would not be found by it.
func parseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id.String() != s {
		return id, fmt.Errorf("session id %q is not a UUID in lower case: make it with uuid.NewV7", s)
	}
	return id, nil
}
