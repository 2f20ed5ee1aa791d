// A fresh key for a keys file (keys.md 1). Nothing is written: the secret is shown once, and the file needs its digest alone.
import { hash } from 'node:crypto'

/** What a secret begins with, so that people and scanners see what it is. */
const PREFIX = 'gw-'
/** 43 characters of base64url. */
const SECRET_BYTES = 32

/** The text for the operator: the secret, and the entry for `keys:` with its digest. */
export function writeNewKey(name: string, randomBytes: (size: number) => Buffer): string {
  const secret = `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`
  return `Secret, shown only now:

${secret}

Entry under "keys:" in the file that GATEWAY_KEYS_FILE names:

  - name: ${JSON.stringify(name)}
    secrets:
      - sha256: "${hash('sha256', secret, 'hex')}"
`
}
