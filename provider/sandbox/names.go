package sandbox

import (
	"context"
	"strings"

	"github.com/provisiond/provisiond/provider"
)

const (
	kindInstance   = "instance"
	kindCredential = "credential"
)

// instanceName and credentialName derive the outside names from the IDs.
func instanceName(r *provider.Request) string {
	return "sandbox-" + strings.TrimPrefix(r.InstanceID, "inst_")
}

func credentialName(bindingID string) string {
	return "sandbox-user-" + strings.TrimPrefix(bindingID, "bind_")
}

// Names implements provider.Namer.
func (d *driver) Names(r *provider.Request) []provider.Object {
	objects := []provider.Object{{Kind: kindInstance, Name: instanceName(r)}}
	if r.BindingID != "" {
		objects = append(objects, provider.Object{Kind: kindCredential, Name: credentialName(r.BindingID)})
	}
	return objects
}

// Find implements provider.Driver.
func (d *driver) Find(ctx context.Context, r *provider.Request) ([]provider.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects, err := d.backend.look(ctx, r.InstanceID)
	if err != nil {
		return nil, err
	}
	var found []provider.Object
	for _, o := range objects {
		found = append(found, o.Object)
	}
	return found, nil
}

// List implements provider.Lister.
func (d *driver) List(ctx context.Context) ([]provider.Owned, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects, err := d.backend.all(ctx)
	if err != nil {
		return nil, err
	}
	var owned []provider.Owned
	for _, o := range objects {
		owned = append(owned, o.Owned)
	}
	return owned, nil
}
