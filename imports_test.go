package provisiond_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/provisiond/provisiond"

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// TestImportRules holds who may import whom, directly or through others; see CONTRIBUTING.md. Tests
// may import what they need.
func TestImportRules(t *testing.T) {
	t.Parallel()
	// What packages below a folder may depend on in this module. A * ends a prefix.
	rules := []struct {
		folder  string
		allowed []string
	}{
		{"provider", nil},
		{"provider/*", []string{"provider"}},
		{"jobs/catalog", []string{"provider"}},
		{"jobs", []string{"provider", "jobs/catalog"}},
		{"api", []string{"", "provider", "jobs", "jobs/catalog", "api/pages"}},
		{"api/pages", nil},
		{"client", nil},
		{"mcpfacade", []string{"client"}},
		{"migrations", nil},
		{"internal/devpg", nil},
	}
	packages := listPackages(t)
	for _, rule := range rules {
		t.Run(rule.folder, func(t *testing.T) {
			t.Parallel()
			found := 0
			for _, p := range packages {
				if !matches(rule.folder, p.ImportPath) {
					continue
				}
				found++
				for _, dependency := range p.Deps {
					name, ours := ownName(dependency)
					if ours && !slices.Contains(rule.allowed, name) {
						t.Errorf("%s depends on %s", p.ImportPath, dependency)
					}
				}
			}
			if found == 0 {
				t.Errorf("no package in %s", rule.folder)
			}
		})
	}
}

// TestEchoStaysInTheAPI keeps echo v4 replaceable: its support ends on 2026-12-31.
func TestEchoStaysInTheAPI(t *testing.T) {
	t.Parallel()
	// The benchmark measures against bare echo.
	allowed := []string{"api", "bench"}
	for _, p := range listPackages(t) {
		name, _ := ownName(p.ImportPath)
		uses := slices.ContainsFunc(p.Imports, func(path string) bool {
			return strings.HasPrefix(path, "github.com/labstack/echo")
		})
		if uses && !slices.Contains(allowed, name) && !strings.HasPrefix(name, "cmd/") {
			t.Errorf("%s imports echo", p.ImportPath)
		}
	}
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// ownName is a package's path in this module, "" for the root.
func ownName(path string) (name string, ours bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func matches(folder, path string) bool {
	name, ours := ownName(path)
	if prefix, ok := strings.CutSuffix(folder, "*"); ok {
		return ours && strings.HasPrefix(name, prefix)
	}
	return ours && name == folder
}
