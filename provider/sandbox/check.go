package sandbox

import (
	"context"

	"github.com/provisiond/provisiond/provider"
)

// Check implements provider.Driver.
func (d *driver) Check(ctx context.Context, r *provider.Request) ([]provider.Finding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := knobsOf(r)
	if err != nil {
		return nil, err
	}
	detail, err := k.detail(r)
	if err != nil {
		return nil, err
	}
	expected := []provider.Object{{Kind: kindInstance, Name: instanceName(r)}}
	for _, id := range r.Bindings {
		expected = append(expected, provider.Object{Kind: kindCredential, Name: credentialName(id)})
	}
	objects, err := d.backend.look(ctx, r.InstanceID, namesOf(expected)...)
	if err != nil {
		return nil, err
	}
	return compare(r.InstanceID, detail, expected, objects), nil
}

func namesOf(objects []provider.Object) []string {
	var names []string
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names
}

// compare finds how the objects differ from those expected, the first of which records the detail.
func compare(instanceID, detail string, expected []provider.Object, objects []object) []provider.Finding {
	var findings []provider.Finding
	add := func(kind provider.FindingKind, o provider.Object, detail string) {
		findings = append(findings, provider.Finding{Kind: kind, Object: o, Detail: detail})
	}
	missing := map[provider.Object]bool{}
	for _, o := range expected {
		missing[o] = true
	}
	for _, o := range objects {
		switch {
		case o.InstanceID != instanceID:
			add(provider.Foreign, o.Object, "It has a name of the instance's and is not the instance's.")
		case !missing[o.Object]:
			add(provider.Foreign, o.Object, "It is within the instance and should not exist, or exists twice.")
		// Objects made before details were recorded have none.
		case o.Object == expected[0] && o.detail != "" && o.detail != detail:
			add(provider.Changed, o.Object, "It is not as it was made or last updated.")
			missing[o.Object] = false
		default:
			missing[o.Object] = false
		}
	}
	for _, o := range expected {
		if missing[o] {
			add(provider.Missing, o, "It does not exist in the sandbox.")
		}
	}
	return findings
}
