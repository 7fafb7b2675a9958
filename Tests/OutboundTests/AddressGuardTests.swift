// Which addresses a stranger's URL may lead to, and how URLs are read.

import Testing

@testable import Outbound

struct AddressGuardTests {
    @Test(arguments: [
        "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
        "100.64.0.1", "100.127.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255",
        "192.0.0.1", "192.0.2.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7",
        "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::127.0.0.1", "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
        "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "100::1", "3fff::1",
    ])
    func anAddressThatIsNotPublicIsRefused(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!AddressGuard.publicOnly.admits(address))
        #expect(AddressGuard.anywhere.admits(address))
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
        "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808",
        "::ffff:8.8.8.8", "2001:200::1", "2003::1",
    ])
    func aPublicAddressPasses(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(AddressGuard.publicOnly.admits(address))
    }

    @Test func rangesOpenWhatIsOtherwiseRefused() throws {
        let ranges = try ["10.1.0.0/16", "fd00::/8", "192.168.7.9"].map {
            try #require(AddressRange($0))
        }
        let guarded = AddressGuard(allowing: ranges)
        for (text, isAdmitted) in [
            ("10.1.0.0", true), ("10.1.255.255", true), ("10.0.255.255", false),
            ("10.2.0.0", false), ("fd12::1", true), ("fc00::1", false), ("192.168.7.9", true),
            ("192.168.7.8", false), ("::ffff:10.1.2.3", true), ("8.8.8.8", true),
        ] {
            #expect(guarded.admits(try #require(IPAddress(text))) == isAdmitted, "\(text)")
        }
    }

    @Test(arguments: [
        "", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0.0/8/8", "10.0.0/8", "example.com",
        "10.0.0.0/", "1.2.3.4.5", "::1%lo",
    ])
    func whatIsNoRangeIsRefused(text: String) {
        #expect(AddressRange(text) == nil)
    }

    @Test func aRangeMayBeEverything() throws {
        let all = try #require(AddressRange("0.0.0.0/0"))
        #expect(all.contains(try #require(IPAddress("255.1.2.3"))))
        #expect(!all.contains(try #require(IPAddress("::1"))))
        let six = try #require(AddressRange("::/0"))
        #expect(six.contains(try #require(IPAddress("fe80::1"))))
    }
}

struct HTTPURLTests {
    @Test func aURLIsTakenApart() throws {
        let url = try HTTPURL("HTTPS://Example.COM/a/b?c=d#e")
        #expect(url.isSecure && url.host == "example.com" && url.port == 443)
        #expect(url.origin == "https://example.com")
        #expect(url.text.hasSuffix("/a/b?c=d"))
        let other = try HTTPURL("http://[2001:DB8::1]:8080")
        #expect(!other.isSecure && other.port == 8_080)
        #expect(other.origin == "http://[2001:db8::1]:8080")
        #expect(try HTTPURL("https://xn--bcher-kva.example/").host == "xn--bcher-kva.example")
    }

    /// The same parser connects, so a host means the same to a grant and to the connection.
    @Test(arguments: [
        "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/",
        "http://%31%32%37.0.0.1/",
    ])
    func otherSpellingsOfAnAddressAreThatAddress(text: String) throws {
        #expect(try HTTPURL(text).host == "127.0.0.1")
    }

    @Test(arguments: [
        "", "/path", "example.com/path", "https://", "https://exa mple.com/",
        "https://example.com:99999/", "https://example.com:x/", "https://[::1/", "ftp://a.example/",
        "file:///etc/passwd", "gopher://a.example/", "https://user:pass@a.example/",
        "https://user@a.example/", "https://a.example/\r\nHost: b", "https://a.example/\u{0}",
        "javascript:alert(1)", "https://bücher.example/",
    ])
    func whatARequestCannotGoToIsRefused(text: String) {
        #expect(throws: URLError.self) { try HTTPURL(text) }
    }
}
