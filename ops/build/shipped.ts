// The packages that an installation or the container has, from the lock file: what the product depends on, and what is bundled into the
// dashboard and the documentation pages. Their licenses and the bills of materials come from this list.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
/** Development dependencies whose code is part of the build. */
export const BUNDLED: readonly string[] = ['preact', 'swagger-ui-dist', 'uplot']

/** An entry of the lock file. */
export interface Locked {
  readonly version: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
  readonly link?: boolean
}

/** Shipped packages by their path in the lock file. */
export function readShipped(): Map<string, Locked> {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  return new Map(Object.entries(packages).filter(([path, locked]) => isBundled(path) || isInstalled(path, locked)))
}

/** Whether the code of the package is in the build, and its folder is not installed. */
export function isBundled(path: string): boolean {
  return BUNDLED.some(name => path === `node_modules/${name}`)
}

function isInstalled(path: string, { dev, devOptional, link }: Locked): boolean {
  return path.startsWith('node_modules/') && !dev && !devOptional && !link
}

/** Such as `@fastify/error@4.2.1`. */
export function nameShipped(path: string, { version }: Locked): string {
  return `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`
}
