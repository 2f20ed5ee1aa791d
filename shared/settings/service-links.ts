// Kubernetes gives every container variables about each Service of its namespace (service links). Those of a Service named `gateway` or
// `upstream` look like settings, and one of them has the name of the port (decisions.md 99).

const OF_A_SERVICE =
  /^(GATEWAY|UPSTREAM)_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/
const PORT = /^(GATEWAY|UPSTREAM)_(.+_)?PORT$/
const ADDRESS = /^(tcp|udp|sctp):\/\//

export interface SplitVariables {
  /** All other variables. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Names of the service links, sorted. */
  readonly links: readonly string[]
}

/** Separates the service links of Kubernetes from the variables that the operator set. */
export function splitServiceLinks(environment: Readonly<Record<string, string | undefined>>): SplitVariables {
  const variables: Record<string, string | undefined> = Object.create(null)
  const links: string[] = []
  for (const [name, text] of Object.entries(environment)) {
    if (isServiceLink(name, text)) links.push(name)
    else variables[name] = text
  }
  return { variables, links: links.sort() }
}

/** Returns at most one sentence for all of them. */
export function describeServiceLinks(links: readonly string[]): string[] {
  if (links.length === 0) return []
  return [
    `Variables that Kubernetes sets for a Service are ignored: ${links.join(', ')}; enableServiceLinks: false in the pod switches them off.`
  ]
}

function isServiceLink(name: string, text: string | undefined): boolean {
  return OF_A_SERVICE.test(name) || (PORT.test(name) && text !== undefined && ADDRESS.test(text))
}
