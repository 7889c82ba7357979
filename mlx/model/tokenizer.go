package model

import "fmt"

// The byte tokenizer: token i < 256 is the byte i, and these specials follow.
const (
	TokenBOS       = 256 // starts every prompt
	TokenEOS       = 257 // ends an answer
	TokenSystem    = 258 // what follows is the system message
	TokenUser      = 259 // what follows is the user's message
	TokenAssistant = 260 // what follows is the answer

	ByteVocab = 261 // tokens that the tokenizer can make
)

// EncodeChat renders a conversation to tokens:
//
//	BOS [SYSTEM system] USER user ASSISTANT
//
// where an empty system message is left out. One byte is one token.
func EncodeChat(system, user string) []int32 {
	ids := make([]int32, 0, len(system)+len(user)+4)
	ids = append(ids, TokenBOS)
	if system != "" {
		ids = appendBytes(append(ids, TokenSystem), system)
	}
	ids = appendBytes(append(ids, TokenUser), user)
	return append(ids, TokenAssistant)
}

func appendBytes(ids []int32, text string) []int32 {
	for i := range len(text) {
		ids = append(ids, int32(text[i]))
	}
	return ids
}

// CountChat is len(EncodeChat(system, user)).
func CountChat(system, user string) int {
	n := 3 + len(user)
	if system != "" {
		n += 1 + len(system)
	}
	return n
}

// ChatHead is the number of tokens that the template puts before the user's
// message when there is no system message, ChatTail that after it.
const (
	ChatHead = 2
	ChatTail = 1
)

// TokenText is a token as one can print it: visible ASCII and spaces as they
// are, any other byte as an escape like \x0a, a special by its name. A model of
// random weights writes noise, of which no sequence of bytes should reach a
// terminal. It is never empty.
func TokenText(id int32) string {
	switch {
	case id >= ' ' && id <= '~':
		return string(rune(id))
	case id >= 0 && id < 256:
		return fmt.Sprintf(`\x%02x`, id)
	}
	names := [...]string{"<bos>", "<eos>", "<system>", "<user>", "<assistant>"}
	if i := id - TokenBOS; i >= 0 && int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("<%d>", id)
}
