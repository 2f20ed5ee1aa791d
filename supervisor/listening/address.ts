// Writes an address for people and for clients.

export interface Address {
  readonly host: string
  readonly port: number
}

/** Host and port with a colon between them; an IPv6 address stands in brackets. */
export function writeAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
