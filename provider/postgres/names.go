package postgres

import (
	"regexp"

	"github.com/provisiond/provisiond/provider"
)

var (
	instanceID = regexp.MustCompile(`^inst_([0-9a-z]{26})$`)
	bindingID  = regexp.MustCompile(`^bind_([0-9a-z]{26})$`)
)

// names are those of an instance's own objects.
type names struct {
	// owner is the name of the owner role, and of the database.
	owner string
	// marker is the comment on the owner role.
	marker string
}

// login is a binding's role.
type login struct {
	name string
	// marker is the comment on the role.
	marker string
}

const (
	// instanceMarker comes before an instance's ID.
	instanceMarker = "provisiond instance "
	// bindingMarker comes between an instance's marker and a binding's ID.
	bindingMarker = " binding "
)

func namesOf(r *provider.Request) (names, error) {
	id := instanceID.FindStringSubmatch(r.InstanceID)
	if id == nil {
		return names{}, rejected("The instance ID is not of its form.", nil)
	}
	return names{owner: "prov_" + id[1], marker: instanceMarker + r.InstanceID}, nil
}

// login names the role of a binding.
func (n names) login(binding string) (login, error) {
	id := bindingID.FindStringSubmatch(binding)
	if id == nil {
		return login{}, rejected("The binding ID is not of its form.", nil)
	}
	return login{name: "prov_u_" + id[1], marker: n.marker + bindingMarker + binding}, nil
}

func (n names) database() provider.Object { return provider.Object{Kind: "database", Name: n.owner} }

func (n names) ownerRole() provider.Object { return role(n.owner) }

func role(name string) provider.Object { return provider.Object{Kind: "role", Name: name} }

// logins names the roles of the bindings.
func (n names) logins(bindings []string) ([]login, error) {
	logins := make([]login, len(bindings))
	for i, binding := range bindings {
		var err error
		if logins[i], err = n.login(binding); err != nil {
			return nil, err
		}
	}
	return logins, nil
}
