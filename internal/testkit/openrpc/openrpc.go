// Package openrpc reads a node's OpenRPC document and validates values against its schemas.
package openrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Method is a method of a document, with its schemas as JSON.
type Method struct {
	Name   string
	Params []struct {
		Name     string
		Required bool
		Schema   map[string]any
	}
	Result struct{ Schema map[string]any }
	Errors []struct {
		Code int
		Data struct{ Reasons map[string]string }
	}
}

// Document is the parsed OpenRPC document of a node.
type Document struct {
	Methods    map[string]Method
	components map[string]any
}

// Read reads a document.
func Read(raw []byte) (Document, error) {
	var read struct {
		Methods    []Method
		Components struct{ Schemas map[string]any }
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&read); err != nil {
		return Document{}, err
	}
	document := Document{map[string]Method{}, read.Components.Schemas}
	for _, m := range read.Methods {
		document.Methods[m.Name] = m
	}
	return document, nil
}

// Value parses a JSON value for [Document.Validate]. Numbers keep their digits.
func Value(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return value, d.Decode(&value)
}

// Validate validates a value against a schema. It supports the part of JSON Schema that documents use. An object must
// have declared members only. Errors refer to the value as at.
func (d Document) Validate(value, schema any, at string) error {
	s := schema.(map[string]any)
	if within, ok := s["x-cairn-ref"].(string); ok {
		return d.Validate(value, d.components[within], at)
	}
	if ref, ok := s["$ref"].(string); ok {
		return d.Validate(value, d.components[strings.TrimPrefix(ref, "#/components/schemas/")], at)
	}
	if all, ok := s["allOf"].([]any); ok {
		return d.Validate(value, all[0], at)
	}
	if one, ok := s["oneOf"].([]any); ok {
		var errs []error
		for _, option := range one {
			if err := d.Validate(value, option, at); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) != len(one)-1 {
			return fmt.Errorf("%s: %v fits %d of %d schemas: %v", at, value, len(one)-len(errs), len(one), errs)
		}
		return nil
	}
	if options, ok := s["enum"].([]any); ok && !slices.Contains(options, value) {
		return fmt.Errorf("%s: %v is not one of %v", at, value, options)
	}
	return d.validateType(value, s, at)
}

func (d Document) validateType(value any, s map[string]any, at string) error {
	ok := false
	switch s["type"] {
	case "null":
		ok = value == nil
	case "boolean":
		_, ok = value.(bool)
	case "string":
		text, isText := value.(string)
		pattern, _ := s["pattern"].(string)
		ok = isText && regexp.MustCompile(pattern).MatchString(text)
	case "integer":
		number, isNumber := value.(json.Number)
		ok = isNumber && !strings.ContainsAny(number.String(), ".eE") && inBounds(number, s)
	case "number":
		number, isNumber := value.(json.Number)
		_, decimals, _ := strings.Cut(number.String(), ".")
		ok = isNumber && len(decimals) <= 6 && inBounds(number, s)
	case "array":
		items, isArray := value.([]any)
		ok = isArray
		for i, item := range items {
			if err := d.Validate(item, s["items"], fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "object":
		return d.validateObject(value, s, at)
	}
	if !ok {
		return fmt.Errorf("%s: %v (%T) is not %v", at, value, value, s)
	}
	return nil
}

// inBounds compares a number exactly with minimum and maximum.
func inBounds(number json.Number, s map[string]any) bool {
	n, ok := new(big.Rat).SetString(number.String())
	for bound, wrong := range map[string]int{"minimum": -1, "maximum": 1} {
		if limit, bounded := s[bound].(json.Number); ok && bounded {
			most, isNumber := new(big.Rat).SetString(limit.String())
			ok = isNumber && n.Cmp(most) != wrong
		}
	}
	return ok
}

func (d Document) validateObject(value any, s map[string]any, at string) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %v is no object", at, value)
	}
	if s["additionalProperties"] == true { // any members are allowed
		return nil
	}
	if items, isMap := s["additionalProperties"].(map[string]any); isMap {
		for name, item := range object {
			if err := d.Validate(item, items, at+"."+name); err != nil {
				return err
			}
		}
		return nil
	}
	properties := s["properties"].(map[string]any)
	for _, name := range s["required"].([]any) {
		if _, ok := object[name.(string)]; !ok {
			return fmt.Errorf("%s: %s is missing", at, name)
		}
	}
	for name, member := range object {
		schema, ok := properties[name]
		if !ok {
			return fmt.Errorf("%s: %s is not declared", at, name)
		}
		if err := d.Validate(member, schema, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}
