// The parts of undici that calls to providers use. The index of the package also loads its fetch, caches and mocks: 85 more modules and
// 5 MB in every worker. The package has no exports map, so its files can be named; a test compares them with the index.

import { createRequire } from 'node:module'

type Undici = typeof import('undici')

const require = createRequire(import.meta.url)

/** One connection. */
export const Client = require('undici/lib/dispatcher/client.js') as Undici['Client']
/** The connections to one origin. */
export const Pool = require('undici/lib/dispatcher/pool.js') as Undici['Pool']
/** Creates what opens a connection. */
export const buildConnector = require('undici/lib/core/connect.js') as Undici['buildConnector']

/** The agent for calls through a proxy. It uses methods that only the index adds to its classes, so the whole package is loaded. */
export function loadProxyAgent(): Undici['EnvHttpProxyAgent'] {
  return (require('undici') as Undici).EnvHttpProxyAgent
}
