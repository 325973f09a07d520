package bind

import (
	"fmt"
	"reflect"
	"strings"
)

// Show formats a value of generated code as text: an absent value as "none", bytes in hex, and a struct by its named
// fields.
func Show(value any) string {
	var b strings.Builder
	show(&b, reflect.ValueOf(value))
	return b.String()
}

func show(b *strings.Builder, v reflect.Value) {
	kind := v.Kind()
	if kind == reflect.Invalid || (kind == reflect.Pointer || kind == reflect.Interface) && v.IsNil() {
		b.WriteString("none")
		return
	}
	if kind == reflect.Pointer || kind == reflect.Interface {
		show(b, v.Elem())
		return
	}
	if text, ok := v.Interface().(fmt.Stringer); ok {
		b.WriteString(text.String())
		return
	}
	isList := kind == reflect.Slice || kind == reflect.Array
	switch {
	case isList && v.Type().Elem().Kind() == reflect.Uint8 && v.Type().Elem().PkgPath() == "":
		fmt.Fprintf(b, "0x%x", v.Interface())
	case isList:
		showAll(b, "[]", v.Len(), func(i int) { show(b, v.Index(i)) })
	case kind == reflect.Struct:
		showAll(b, "{}", v.NumField(), func(i int) {
			b.WriteString(v.Type().Field(i).Name + ":")
			show(b, v.Field(i))
		})
	default:
		fmt.Fprint(b, v.Interface())
	}
}

// showAll writes items between brackets.
func showAll(b *strings.Builder, brackets string, n int, item func(i int)) {
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		item(i)
	}
	b.WriteByte(brackets[1])
}
