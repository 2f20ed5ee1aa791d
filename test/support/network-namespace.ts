// A network of its own for a test: the test's process stands in one namespace with every address
// that it wants, those of clouds and of the internet too, and the gateway in another one, which
// reaches all of them over one cable (Linux).

import { type ChildProcess, execFile, execFileSync, spawnSync } from 'node:child_process'
import { readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** New namespaces for network and mounts, as root of a user namespace or as root. */
const WAYS = [
  ['--user', '--map-root-user', '--net', '--mount'],
  ['--net', '--mount']
]

/** The command that runs another one in a network of its own; undefined where the machine does not allow that. */
export function findNamespaceCommand(): readonly string[] | undefined {
  const probe = 'ip link set lo up && ip link add w0 type veth peer name g0 && mount --bind /etc/hostname /etc/hosts'
  const way = WAYS.find(flags => spawnSync('unshare', [...flags, 'sh', '-c', probe]).status === 0)
  return way && ['unshare', ...way]
}

/** The namespaces of this process. */
function nameNamespaces(): string {
  return ['net', 'mnt'].map(kind => readlinkSync(`/proc/self/ns/${kind}`)).join(' ')
}

/** For the environment of a program that is started with this command: it knows which namespaces are not its own. */
export const nameOuterNamespaces = () => ({ OUTER_NAMESPACES: nameNamespaces() })

/** Throws outside of namespaces of the test's own: root would change network and names of the whole machine. */
function assertOwnNamespaces(): void {
  const outer = process.env.OUTER_NAMESPACES?.split(' ')
  if (
    outer !== undefined &&
    nameNamespaces()
      .split(' ')
      .every((one, index) => one !== outer[index])
  )
    return
  throw new Error('This file needs namespaces of its own: run the test that starts it.')
}

const ip = (...args: string[]): void => void execFileSync('ip', args)

/** Gives the test's namespace its addresses, all on loopback. The gateway has routes to them. */
export function addAddresses(addresses: readonly string[]): void {
  assertOwnNamespaces()
  ip('link', 'set', 'lo', 'up')
  for (const address of addresses) {
    ip('address', 'add', `${address}/${address.includes(':') ? 128 : 32}`, 'dev', 'lo')
  }
}

/** The files by which the system resolves names. The hosts file may be written again while the gateway runs. */
export interface NameFiles {
  writeHosts(addresses: Readonly<Record<string, readonly string[]>>): void
}

/** Replaces the files by which the system resolves names, in the test's namespace alone. */
export function replaceNameFiles(folder: string, resolverText: string): NameFiles {
  assertOwnNamespaces()
  const files = { hosts: '', 'resolv.conf': resolverText, 'nsswitch.conf': 'hosts: files dns\n' }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text)
    execFileSync('mount', ['--bind', join(folder, name), `/etc/${name}`])
  }
  return {
    writeHosts(addresses) {
      const lines = Object.entries(addresses).flatMap(([name, list]) => list.map(address => `${address} ${name}\n`))
      writeFileSync(join(folder, 'hosts'), lines.join(''))
    }
  }
}

/** Starts a program in a namespace of its own as soon as its cable is connected. */
export const ownNamespace: readonly string[] = [
  ...['unshare', '--net', 'sh', '-c'],
  'until ip -4 address show dev lo 2>/dev/null | grep -q inet; do sleep 0.05; done; exec "$0" "$@"'
]

const ENDS = { v4: ['10.231.0.1', '10.231.0.2'], v6: ['fd00:231::1', 'fd00:231::2'] } as const

/** The address of the program in its own namespace. */
export const ownAddress = ENDS.v4[1]

/** Lays the cable between the test's namespace and that of a program which `ownNamespace` has started. */
export async function connectCable({ pid = 0 }: Pick<ChildProcess, 'pid'>): Promise<void> {
  while (readlinkSync(`/proc/${pid}/ns/net`) === readlinkSync('/proc/self/ns/net')) await wait(10)
  const inside = (...args: string[]): void => void execFileSync('nsenter', [`--target=${pid}`, '--net', 'ip', ...args])
  ip('link', 'add', 'w0', 'type', 'veth', 'peer', 'name', 'g0', 'netns', String(pid))
  ip('address', 'add', `${ENDS.v4[0]}/30`, 'dev', 'w0')
  ip('address', 'add', `${ENDS.v6[0]}/64`, 'dev', 'w0', 'nodad')
  ip('link', 'set', 'w0', 'up')
  inside('address', 'add', `${ENDS.v4[1]}/30`, 'dev', 'g0')
  inside('address', 'add', `${ENDS.v6[1]}/64`, 'dev', 'g0', 'nodad')
  inside('link', 'set', 'g0', 'up')
  inside('route', 'add', 'default', 'via', ENDS.v4[0])
  inside('-6', 'route', 'add', 'default', 'via', ENDS.v6[0])
  inside('link', 'set', 'lo', 'up')
}

/** Whether a connection from the namespace of a program reaches an address. */
export function canReach({ pid = 0 }: Pick<ChildProcess, 'pid'>, host: string, port: number): Promise<boolean> {
  const socket = `require('node:net').connect(${port}, '${host}')`
  const script = `${socket}.on('close', hasError => process.exit(hasError ? 1 : 0)).resume()`
  const args = [`--target=${pid}`, '--net', process.execPath, '-e', script]
  return new Promise(resolve => {
    execFile('nsenter', args, { env: { PATH: process.env.PATH }, timeout: 20_000 }, error => resolve(error === null))
  })
}
