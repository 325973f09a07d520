package types

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decodeStrict decodes one JSON document. It refuses unknown members, repeated members, members whose case differs from
// their name, which encoding/json would accept, and data after the document.
func decodeStrict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the JSON document")
	}
	return checkMembers(json.NewDecoder(bytes.NewReader(b)))
}

// checkMembers checks the member names in the next value, at any depth.
func checkMembers(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		seen := make(map[string]bool)
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if err := checkMember(name.(string), seen); err != nil {
				return err
			}
			if err := checkMembers(d); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for d.More() {
			if err := checkMembers(d); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token() // the end of the object or list
	return err
}

// checkMember checks a member name, which is known to be valid except for its case.
func checkMember(name string, seen map[string]bool) error {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return fmt.Errorf("unknown member %q: names are in lower case", name)
	}
	if seen[name] {
		return fmt.Errorf("member %q occurs twice", name)
	}
	seen[name] = true
	return nil
}
