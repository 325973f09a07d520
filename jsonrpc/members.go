package jsonrpc

import "fmt"

// StringMembers returns what the member of a name says in each object of an array, which must be there once and be a
// string. It is for large results: it costs one pass, and copies nothing but strings with escapes. The error is
// [ErrBadAnswer].
func StringMembers(array []byte, name string) (texts [][]byte, err error) {
	s := scanner{text: array, limit: maxAnswerDepth}
	if s.token() != '[' {
		return nil, fmt.Errorf("%w: it is not an array", ErrBadAnswer)
	}
	s.enter()
	for first := true; s.more(']', first); first = false {
		if s.token() != '{' {
			return nil, fmt.Errorf("%w: element %d is not an object", ErrBadAnswer, len(texts))
		}
		s.enter()
		var found []byte
		for first := true; s.more('}', first); first = false {
			key := s.key()
			value := s.value()
			if s.fault != noFault {
				break
			}
			if string(stringText(key)) != name {
				continue
			}
			if found != nil || !isString(value) {
				return nil, fmt.Errorf("%w: %s of element %d is not one string", ErrBadAnswer, name, len(texts))
			}
			found = value
		}
		if s.fault == noFault && found == nil {
			return nil, fmt.Errorf("%w: element %d has no %s", ErrBadAnswer, len(texts), name)
		}
		if found != nil {
			texts = append(texts, stringText(found))
		}
	}
	if s.end(); s.fault != noFault {
		return nil, fmt.Errorf("%w: it is not JSON", ErrBadAnswer)
	}
	return texts, nil
}
