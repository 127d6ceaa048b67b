package jobs

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the property test short unless it is asked for more (-rapid.checks=N): each of its
// sequences is some hundred transactions.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
