// Which variables a child process keeps: what the system, Node and its memory allocator read. A worker is configured by message
// alone, and no credential is left in its environment, under any name of a variable.

/** Upper case. Windows ignores the case of names, so they are compared without it. */
const KEPT_NAMES = new Set([
  ...['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LANGUAGE'],
  // What Windows and its libraries need to start a process and to find files.
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'TEMP', 'TMP', 'USERPROFILE'],
  // Thread pool and trust store of Node: each process reads them by itself, and they name files and no secrets.
  ...['UV_THREADPOOL_SIZE', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'OPENSSL_CONF', 'OPENSSL_MODULES'],
  // What the system's resolver of names reads beside its files.
  ...['LOCALDOMAIN', 'RES_OPTIONS'],
  // The operator's choice of allocator and libraries holds for every process.
  ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'DYLD_LIBRARY_PATH', 'GLIBC_TUNABLES']
])
const KEPT_PREFIXES = /^(NODE|LC|MALLOC)_/
/** Node's own variables are kept by prefix, such as NODE_EXTRA_CA_CERTS; package managers put tokens under the same prefix. */
const CREDENTIAL_WORDS = /TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH|KEY/

/**
 * The variables of this process that a child must not get, each as undefined: `cluster.fork` adds variables to those of this
 * process, and one that is undefined is left out. Proxies (whose URLs may hold passwords) are handed over as settings.
 */
export function hideVariables(
  environment: Readonly<Record<string, string | undefined>>,
  credentialNames: readonly string[]
): Record<string, undefined> {
  const isCredential = new Set(credentialNames.map(name => name.toUpperCase()))
  const hidden = Object.keys(environment).filter(name => {
    const folded = name.toUpperCase()
    return isCredential.has(folded) || !isKept(folded)
  })
  return Object.fromEntries(hidden.map(name => [name, undefined]))
}

function isKept(name: string): boolean {
  return KEPT_NAMES.has(name) || (KEPT_PREFIXES.test(name) && !CREDENTIAL_WORDS.test(name))
}
