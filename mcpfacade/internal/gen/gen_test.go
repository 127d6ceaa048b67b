package main

import (
	"os"
	"path/filepath"
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
