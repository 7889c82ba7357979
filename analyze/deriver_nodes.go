package analyze

import (
	"net"
	"net/url"
	"strings"

	"tokwatt/collect"
)

// nodes are the machines that a target runs on, whose energies are its own:
// those of its placement, else of its engine's sensors, else the machine of its
// endpoint. It is none where no sensors are its, and all that were read where
// nobody said which there are.
func (d *Deriver) nodes(t *collect.TargetInfo) []string {
	if len(t.Nodes) > 0 {
		return t.Nodes
	}
	if own := d.meter.Declared(t.TargetID); len(own) > 0 {
		return own
	}
	if len(d.meter.Declared(0)) == 0 {
		return d.meter.Undeclared()
	}
	return []string{machineOf(t.Endpoint, d.host)}
}

// machineOf is the name of the machine that an endpoint is on: host, which is
// this one, or that of the address. An address of this machine's own that does
// not look like one is another machine's: its energy is rather unknown than
// that of the wrong one.
func machineOf(endpoint, host string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return host
	}
	name := u.Hostname()
	if ip := net.ParseIP(name); name == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return host
	}
	if strings.EqualFold(firstLabel(name), firstLabel(host)) && net.ParseIP(name) == nil {
		return host
	}
	return name
}

// firstLabel is a host's name without its domain.
func firstLabel(name string) string {
	label, _, _ := strings.Cut(name, ".")
	return label
}
