// Package postgres is the driver that makes a database on a given PostgreSQL server (15 or later).
//
// # What an instance is
//
// An owner role that cannot log in, and a database of the same name that it owns: "prov_" and the
// suffix of the instance's ID. Each binding is a login role, "prov_u_" and the suffix of the binding's
// ID. It is a member of the owner role and works as it from the start of each session, so whatever it
// makes belongs to the owner role and outlives the binding.
//
// Comments on the roles say whose they are. A role and its comment are made in one transaction, so a
// role of ours never lacks its comment, and a tenant cannot write comments on roles. A database is ours
// when its owner is our owner role.
//
// # What becomes of it
//
// Update changes connection_limit, of the database and of each login role, and adds extensions, all in one
// transaction. Sessions over a lower limit go on. Refused, with nothing changed, are another locale, which
// PostgreSQL cannot give a database, and a list without an extension that the database has: to drop it would
// drop what uses it, columns with their data. The limit can be raised while the database has no free
// connection; to add an extension needs one, unless the administrator is a superuser. When the database is gone or
// another's, Update says that the instance does not work.
//
// Unbind locks the login role, ends its sessions, and drops it. A user can leave the owner role (SET ROLE
// NONE) and own things as the login role: these go to the owner role first, in whatever database they are.
// Grants to the login role go, and so does a policy that is for it alone. It works by the role's own marker,
// also after the loss of the database or the owner role.
//
// Deprovision drops the database, also where its users closed it or made a template of it, and then the roles, with all that they own in other databases, such as large
// objects, and all grants to them there.
//
// Check finds
//
//	missing  the database, the owner role, a binding's login role, an extension of the parameters
//	changed  the database: another connection limit, takes no connections or none of the owner role's, a
//	         template, rights of PUBLIC or of roles that are not the instance's, a drop that was cut off
//	changed  a login role: may not log in, has expired or will (VALID UNTIL), another connection limit, no
//	         member of the owner role, sessions that do not start as the owner role
//	changed  the owner role or a login role: more rights (SUPERUSER, CREATEROLE and the like), a member of
//	         another role, may make others members
//	foreign  a role or a database of the instance's or a binding's name that is not its, which a database
//	         with another owner is, too; a login role with the instance's marker that is no binding's; a role
//	         that was made a member of one of the instance's, an administrator from before among them
//
// What is within the database is the users' own and no drift: schemas, tables, further extensions, and grants
// on these; so are the settings of the database and of the login roles, but for the role that sessions start
// as. Passwords cannot be compared.
//
// # Configuration of a service
//
//	admin_url    PostgreSQL URL or keyword string of the administrator; a secret
//	public_host  host that clients reach the server by; default: that of admin_url
//	public_port  port that clients reach the server by; default: that of admin_url
//	sslmode      that of the issued URIs; default: prefer
//
// Workers must reach the public host too: credentials are issued only after a login with them.
//
// # Settings of a plan
//
//	connection_limit  the most connections of a database, and the default of the parameter; default: no limit
//	extensions        the extensions that users may ask for; default: none
//	locale            the default of the parameter; default: that of the server's template0
//
// # Parameters
//
//	connection_limit  integer, from 1 to the plan's limit
//	extensions        array of names, each one of the plan's
//	locale            string, such as "C.UTF-8" or "de_DE.UTF-8"; must exist on the server
//
// Others are ignored: they are the catalog's own. The encoding is always UTF8.
//
// # Rights of the administrator
//
// A superuser, or a role with LOGIN, CREATEDB, CREATEROLE and INHERIT. Without superuser only trusted
// extensions can be made. The administrator becomes a member of the roles that it makes.
//
// An extension's script runs with a superuser's rights, and after an Update in a schema where the instance's
// users can make things. Allow in a plan only trusted extensions, and others whose scripts are written for that.
//
// On a server with several tenants, revoke CONNECT from PUBLIC on the databases that are not
// provisiond's: every login role can connect where PUBLIC can.
package postgres
