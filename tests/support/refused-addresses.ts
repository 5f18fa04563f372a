/** Addresses to which the service must not send a request if a user or a third party chose them. */

/** URLs that are refused because they are not https or have credentials. */
export const REFUSED_URLS: readonly string[] = [
  "http://elsewhere.example/page",
  "ftp://elsewhere.example",
  "file:///etc/passwd",
  "data:text/plain,x",
  "https://user@elsewhere.example",
  "https://user:secret@elsewhere.example",
  "https://:secret@elsewhere.example",
  "//elsewhere.example",
  "elsewhere.example",
  "https://",
  "",
];

/** Hosts that are private, in all their spellings. */
export const PRIVATE_HOSTS: readonly string[] = [
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f.0.0.1",
  "0x7f000001",
  "0177.0.0.1",
  "017700000001",
  "127.0.0.1.",
  "%31%32%37.0.0.1",
  "１２７.0.0.1",
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "169.254.169.254",
  "168.63.129.16",
  "172.16.0.1",
  "192.168.1.1",
  "192.0.0.192",
  "224.0.0.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:a9fe:a9fe]",
  "[::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[fd00:ec2::254]",
  "[fe80::1]",
  "[ff02::1]",
  "localhost",
];

/** Answers of a name server for which the name must be refused. */
export const REFUSED_ANSWERS: readonly (readonly [about: string, addresses: readonly string[]])[] = [
  ["a private address among public ones", ["8.8.8.8", "2606:4700::1111", "10.0.0.1"]],
  ["a link-local address with a zone", ["fe80::1%eth0"]],
  ["an IPv4-mapped private address", ["::ffff:192.168.0.1"]],
  ["no address", []],
];
