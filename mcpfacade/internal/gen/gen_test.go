package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

func readContract(t *testing.T) []byte {
	t.Helper()
	contract, err := os.ReadFile(filepath.Join(root, contractFile))
	if err != nil {
		t.Fatal(err)
	}
	return contract
}

func TestSchemasAreUpToDate(t *testing.T) {
	t.Parallel()
	want, err := generate(readContract(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, schemasFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run make generate (-want +got):\n%s", diff)
	}
}

// What the contract says of an argument and what the tool adds must not be the same thing twice.
func TestNoDescriptionRepeatsItself(t *testing.T) {
	t.Parallel()
	data, err := generate(readContract(t))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Input struct {
			Properties map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("`", "", "a ", "", "an ", "", "the ", "")
	for tool, schemas := range all {
		for name, property := range schemas.Input.Properties {
			var said []string
			for _, clause := range strings.FieldsFunc(property.Description, func(r rune) bool { return strings.ContainsRune(".;", r) }) {
				clause = plain.Replace(strings.ToLower(strings.TrimSpace(clause)))
				if slices.ContainsFunc(said, func(before string) bool { return strings.HasPrefix(clause, before) }) {
					t.Errorf("%s, %s: %q", tool, name, property.Description)
				}
				said = append(said, clause)
			}
		}
	}
}

func TestContractWithoutAnOperation(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]string{
		"operation": "operationId: cancelJob",
		"parameter": "name: wait\n",
		"schema":    "    ServiceID:\n",
	} {
		contract := strings.ReplaceAll(string(readContract(t)), cut, strings.Replace(cut, ":", "x:", 1))
		if _, err := generate([]byte(contract)); err == nil {
			t.Errorf("%s: no error though the contract lacks it", name)
		}
	}
}

func TestToolThatTellsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := schema{"properties": schema{"items": schema{"items": schema{"properties": schema{"id": schema{}, "name": schema{}}}}}}
	if err := keepOnly(s, []string{"id"}); err != nil || at(s, "properties", "items", "items", "properties", "name") != nil {
		t.Errorf("got %v, %v", s, err)
	}
	if err := keepOnly(s, []string{"name"}); err == nil {
		t.Error("no error for a property that is not there")
	}
}
