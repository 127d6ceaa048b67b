package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/provisiond/provisiond/provider"
)

// Load reads a catalog from YAML. The name is the file's, for errors. Environment variables are
// expanded in strings, after the YAML was parsed, so that a value cannot change the structure:
// ${NAME}, ${NAME:-default}, and $$ for a dollar.
//
// The error lists all faults, one a line, as "file:line:column: path: rule". It shows no value of an
// environment variable. Drivers are made from their configuration, but nothing is connected to.
func Load(name string, data []byte, env func(string) (string, bool), drivers map[string]provider.Factory) (*Catalog, error) {
	expander := &expander{env: env, secrets: map[string]bool{}}
	faults := &faults{file: name}
	reader := &reader{faults: faults, expander: expander, open: map[*yaml.Node]bool{}}
	loader := &loader{faults: faults, drivers: drivers, compiled: map[string]*jsonschema.Schema{}}

	var services []Service
	if root := reader.read(data); root != nil {
		services = loader.catalog(root)
	}
	if err := faults.err(expander.scrubber()); err != nil {
		return nil, err
	}
	slices.SortFunc(services, func(a, b Service) int { return strings.Compare(a.ID, b.ID) })
	return &Catalog{Services: services, ETag: etag(services)}, nil
}

// A loader turns nodes into the catalog. It goes on after a fault to find the others, so a result is
// good only if there were none.
type loader struct {
	*faults
	drivers  map[string]provider.Factory
	compiled map[string]*jsonschema.Schema // by their JSON
}

func (l *loader) catalog(n *node) []Service {
	o := l.object(n, "services")
	o.require("services")
	items := l.list(o.get("services"))
	services := make([]Service, len(items))
	seen := ids{}
	for i, item := range items {
		services[i] = l.service(item, seen)
	}
	return services
}

func (l *loader) service(n *node, seen ids) Service {
	o := l.object(n, "id", "name", "description", "driver", "config", "plans")
	o.require("id", "name", "driver", "plans")
	s := Service{
		ID:          l.id(o.get("id"), seen),
		Name:        l.text(o.get("name")),
		Description: l.text(o.get("description")),
		DriverName:  l.text(o.get("driver")),
	}
	s.Simulated = s.DriverName == "sandbox"
	s.Config = l.json(o.get("config"))
	s.Driver = l.driver(o, s.Config)
	items := l.list(o.get("plans"))
	s.Plans = make([]Plan, len(items))
	plans := ids{}
	for i, item := range items {
		s.Plans[i] = l.plan(item, &s, plans)
	}
	l.updates(items, &s)
	return s
}

// driver returns nil after a fault.
func (l *loader) driver(service object, config json.RawMessage) provider.Driver {
	name := service.get("driver")
	if name == nil {
		return nil
	}
	factory, ok := l.drivers[l.text(name)]
	if !ok {
		known := slices.Sorted(maps.Keys(l.drivers))
		l.add(name, "is not a driver; the drivers are %s", strings.Join(known, ", "))
		return nil
	}
	driver, err := factory(config)
	if err != nil {
		l.add(service.or("config"), "%v", err)
		return nil
	}
	return driver
}
