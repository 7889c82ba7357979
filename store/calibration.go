package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"tokwatt/store/internal/boltpage"
)

// calibrationPrefix begins the key, in bucket meta, of a host's calibration.
const calibrationPrefix = "calibration/"

// maxHost is the longest host name that a key takes, in bytes; DNS allows 253.
const maxHost = 1 << 10

// calibrationValue is the newest result of a host.
type calibrationValue struct {
	Host   string `cbor:"host"`
	Result string `cbor:"result"` // JSON
}

func calibrationKey(host string) []byte { return []byte(calibrationPrefix + host) }

// PutCalibration keeps the result of a calibration of a host, in JSON, in
// place of the one before. The errors are those of [Store.Put].
func (s *Store) PutCalibration(ctx context.Context, host, result string) error {
	if len(host) > maxHost {
		return fmt.Errorf("a host name of %d bytes cannot be stored: %d are the most", len(host), maxHost)
	}
	key := calibrationKey(host)
	p, err := s.codec.enc.Marshal(calibrationValue{host, result})
	if err != nil {
		return err
	}
	if err := s.create(); err != nil {
		return err
	}
	return s.update(ctx, checkMeta(s.codec, key), func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketMeta)).Put(key, seal(key, kindCalibration, p))
	})
}

// checkMeta looks at each page that bbolt meets when it puts a value at key of
// bucket meta.
func checkMeta(c codec, key []byte) pageCheck {
	return func(p *boltpage.File) error {
		if err := checkFormat(c, p); err != nil {
			return err
		}
		meta, err := p.Root().Bucket(bucketMeta)
		if err == nil {
			_, err = meta.Get(key)
		}
		return errors.Join(err, p.Freelist())
	}
}

// Calibration is the newest result of PutCalibration for a host, empty where
// there is none.
func (s *Store) Calibration(ctx context.Context, host string) (string, error) {
	p, f, err := s.openRead(ctx)
	if err != nil {
		return "", err
	}
	defer f.Close()
	meta, err := p.Root().Bucket(bucketMeta)
	if err != nil {
		return "", s.pageError(err)
	}
	key := calibrationKey(host)
	v, err := meta.Get(key)
	if err != nil || v == nil {
		return "", s.pageError(err)
	}
	c, err := s.codec.calibration(key, v)
	if err != nil {
		return "", s.calibrationError(key, err)
	}
	return c.Result, nil
}

// calibration takes the value at key apart.
func (c codec) calibration(key, v []byte) (calibrationValue, error) {
	var out calibrationValue
	k, p, err := unseal(key, v)
	if err == nil && k != kindCalibration {
		err = fmt.Errorf("it is of kind %d", k)
	}
	if err == nil {
		err = c.dec.Unmarshal(p, &out)
	}
	if err == nil && !bytes.Equal(calibrationKey(out.Host), key) {
		err = fmt.Errorf("it is of host %q", out.Host)
	}
	return out, err
}

func (s *Store) calibrationError(key []byte, err error) error {
	return s.fileError(reasonOf(err), fmt.Sprintf("the calibration of host %q: %v", strings.TrimPrefix(string(key), calibrationPrefix), err))
}

// isCalibration tells the keys of calibrations from others.
func isCalibration(key []byte) bool { return bytes.HasPrefix(key, []byte(calibrationPrefix)) }

// meta reads bucket meta of a sound file, but for the format, which was read
// before.
func (v *surveyor) meta(p *boltpage.File) {
	meta, err := p.Root().Bucket(bucketMeta)
	if err != nil {
		v.report.problem(v.store.pageError(err))
		return
	}
	for e, err := range meta.From(nil) {
		switch {
		case err != nil:
			v.report.problem(v.store.pageError(err))
		case isCalibration(e.Key):
			c, err := v.store.codec.calibration(e.Key, e.Value)
			if err != nil {
				v.report.problem(v.store.calibrationError(e.Key, err))
				continue
			}
			v.calibrations = append(v.calibrations, c)
		case string(e.Key) != formatKey:
			v.report.Notes = append(v.report.Notes, fmt.Sprintf("the store says %q, which this tokwatt does not know and passes over", e.Key))
		}
	}
}
