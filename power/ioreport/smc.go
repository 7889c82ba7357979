//go:build darwin || iokitfake

package ioreport

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"tokwatt/power"
)

// smc is a connection to the system management controller.
type smc struct {
	call, closer proc
	conn         uint32
	in, out      *smcData
	size         *uint64
	infos        map[string]smcInfo
}

// smcData is what the SMC's driver takes and gives: 80 bytes, laid out as C
// does it.
type smcData struct {
	key     uint32 // four letters, the first one highest
	version struct {
		_ [4]uint8
		_ uint16
	}
	limits struct {
		_ [2]uint16
		_ [3]uint32
	}
	info   smcInfo
	result uint8
	status uint8
	data8  uint8 // what to do
	data32 uint32
	bytes  [32]byte
}

type smcInfo struct {
	size, kind uint32
	attributes uint8
}

// What the SMC can be told to do, what it answers, what types its values have.
const (
	smcSelector  = 2
	smcRead      = 5
	smcKeyByNum  = 8
	smcKeyInfo   = 9
	smcNoSuchKey = 132
	smcFloat     = 'f'<<24 | 'l'<<16 | 't'<<8 | ' '
)

// IOKit's errors for want of permission.
const (
	kernNotPrivileged = -0x1ffffd3f // 0xe00002c1
	kernNotPermitted  = -0x1ffffd1e // 0xe00002e2
)

func newSMC(l libraries, r *registry) (*smc, error) {
	s := &smc{in: new(smcData), out: new(smcData), size: new(uint64), infos: map[string]smcInfo{}}
	var open, self proc
	if err := resolve(l.ioKit, map[string]*proc{
		"IOServiceOpen":             &open,
		"IOServiceClose":            &s.closer,
		"IOConnectCallStructMethod": &s.call,
	}); err != nil {
		return nil, err
	}
	if err := resolve(l.system, map[string]*proc{"mach_task_self": &self}); err != nil {
		return nil, err
	}
	device := r.find("AppleSMC", "AppleSMCKeysEndpoint")
	if device == 0 {
		return nil, noChannel("this machine has no SMC")
	}
	defer r.drop(device)
	var conn uint32
	code := open.status(uintptr(device), uintptr(uint32(self.call())), 0, uintptr(unsafe.Pointer(&conn)))
	if code != 0 || conn == 0 {
		return nil, kernError("the SMC can't be opened", code)
	}
	s.conn = conn
	return s, nil
}

// kernError is an error of the kernel's, by number.
func kernError(what string, code int32) error {
	reason := power.ReasonNoChannel
	if code == kernNotPrivileged || code == kernNotPermitted {
		reason = power.ReasonDenied
	}
	return missing(reason, fmt.Sprintf("%s: error 0x%08x of the kernel", what, uint32(code)))
}

func (s *smc) close() { s.closer.call(uintptr(s.conn)) }

// ask sends s.in and fills s.out.
func (s *smc) ask() error {
	*s.out = smcData{}
	*s.size = uint64(unsafe.Sizeof(*s.out))
	code := s.call.status(uintptr(s.conn), smcSelector, uintptr(unsafe.Pointer(s.in)), unsafe.Sizeof(*s.in), uintptr(unsafe.Pointer(s.out)), uintptr(unsafe.Pointer(s.size)))
	switch {
	case code != 0:
		return kernError("the SMC can't be read", code)
	case s.out.result == smcNoSuchKey:
		return noChannel("the SMC has no key %s", letters(s.in.key))
	case s.out.result != 0:
		return noReading(fmt.Sprintf("the SMC can't read its key %s (result %d)", letters(s.in.key), s.out.result))
	}
	return nil
}

// read returns a key's type and bytes.
func (s *smc) read(key string) (smcInfo, []byte, error) {
	if len(key) != 4 {
		return smcInfo{}, nil, noChannel("%q is no key of the SMC: they have four letters", key)
	}
	info, ok := s.infos[key]
	if !ok {
		*s.in = smcData{key: binary.BigEndian.Uint32([]byte(key)), data8: smcKeyInfo}
		if err := s.ask(); err != nil {
			return smcInfo{}, nil, err
		}
		info = s.out.info
		s.infos[key] = info
	}
	*s.in = smcData{key: binary.BigEndian.Uint32([]byte(key)), info: info, data8: smcRead}
	if err := s.ask(); err != nil {
		return smcInfo{}, nil, err
	}
	return info, s.out.bytes[:min(info.size, uint32(len(s.out.bytes)))], nil
}

// float implements smcReader.
func (s *smc) float(key string) (float64, error) {
	info, b, err := s.read(key)
	if err != nil {
		return 0, err
	}
	if info.kind != smcFloat || len(b) != 4 {
		return 0, noChannel("the SMC's key %s is no number: type %q, %d bytes", key, letters(info.kind), info.size)
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
}

// keys implements smcReader.
func (s *smc) keys() ([]string, error) {
	_, b, err := s.read("#KEY")
	if err != nil {
		return nil, err
	}
	if len(b) != 4 {
		return nil, noChannel("the SMC doesn't say how many keys it has")
	}
	var out []string
	for i := range binary.BigEndian.Uint32(b) {
		*s.in = smcData{data8: smcKeyByNum, data32: i}
		if s.ask() == nil {
			out = append(out, letters(s.out.key))
		}
	}
	return out, nil
}

func letters(key uint32) string { return string(binary.BigEndian.AppendUint32(nil, key)) }
