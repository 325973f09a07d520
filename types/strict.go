package types

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// decodeStrict decodes one JSON document and refuses unknown members and trailing data.
func decodeStrict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the JSON document")
	}
	return nil
}
