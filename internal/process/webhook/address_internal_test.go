package webhook

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestOnlyAddressesOfThePublicInternetArePublic(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"} {
		if !Public(netip.MustParseAddr(s)) {
			t.Errorf("%s is refused", s)
		}
	}
	for _, s := range []string{
		"127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "198.18.0.1", "192.0.2.1",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a00:1", "2002:7f00:1::", "2001:db8::1", "::7f00:1",
	} {
		if Public(netip.MustParseAddr(s)) {
			t.Errorf("%s is called", s)
		}
	}
}

// A name may resolve to a public address when it is checked and to a private one when it is called:
// only the address of the connection counts.
func TestTheAddressIsCheckedAtEachConnection(t *testing.T) {
	t.Parallel()
	if checkAddress("[::1]:80") == nil || checkAddress("169.254.169.254:80") == nil || checkAddress("nonsense") == nil {
		t.Error("a private address may be connected to")
	}
	if err := checkAddress("8.8.8.8:443"); err != nil {
		t.Error(err)
	}
	for _, c := range []http.Client{New().public, New().private} {
		if c.Transport.(*http.Transport).Proxy != nil {
			t.Error("a proxy would connect where nobody checks")
		}
	}
}
