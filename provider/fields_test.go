package provider

import (
	"strings"
	"testing"
)

func TestDecodeFieldsReportsAllAtOnceAndNoValue(t *testing.T) {
	t.Parallel()
	var name string
	var size int
	limit := 7
	err := DecodeFields([]byte(`{"name":"ok","size":"canary","limit":"canary","other":"canary"}`),
		map[string]any{"name": &name, "size": &size, "limit": &limit})
	want := "limit: must be an integer\nother: unknown field\nsize: must be an integer"
	if err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	if name != "ok" || limit != 7 {
		t.Errorf("name %q, limit %d", name, limit)
	}
	for _, bad := range []string{`[]`, `"x"`, `{`} {
		if err := DecodeFields([]byte(bad), nil); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := DecodeFields(nil, nil); err != nil {
		t.Error(err)
	}
}
