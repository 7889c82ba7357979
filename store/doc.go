// Package store keeps what collect sees: the records of every session, in one
// bbolt file, each on the disk before the next one is made.
package store
