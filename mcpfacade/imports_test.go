package mcpfacade_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The package must stay a client like any other.
func TestImportsOnlyTheClient(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/provisiond/provisiond"
	var own []string
	for pkg := range strings.Lines(string(out)) {
		if pkg = strings.TrimSpace(pkg); strings.HasPrefix(pkg, module) {
			own = append(own, pkg)
		}
	}
	if diff := cmp.Diff([]string{module + "/client", module + "/mcpfacade"}, own); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
