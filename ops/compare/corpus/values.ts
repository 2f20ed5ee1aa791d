// Values that the bodies of all families share.

/** Bytes under a name: two names are two files to the gateway's upload cache. */
export function picture(name: string): string {
  return Buffer.from(`the bytes of ${name}`).toString('base64')
}

export function pictureUrl(name: string, type = 'image/png'): string {
  return `data:${type};base64,${picture(name)}`
}

/** A schema with everything that a translation could lose. */
export const outputSchema = {
  type: 'object',
  properties: {
    a: { $ref: '#/$defs/A' },
    b: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
    c: true,
    d: { type: ['integer', 'null'], enum: [1, 2] },
    e: {}
  },
  required: ['a'],
  additionalProperties: false,
  $defs: { A: { type: 'object', properties: { next: { $ref: '#/$defs/A' } } } }
}

/** Addresses that the gateway must not fetch. */
export const unreachableUrls = [
  'http://127.0.0.1/x.png',
  'http://[::1]/x.png',
  'http://2130706433/x.png',
  'http://10.0.0.1/x.png',
  'http://u:p@example.com/x.png',
  'ftp://example.com/x.png',
  'file:///etc/passwd',
  'not an address'
]
