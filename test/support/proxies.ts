// Runs the proxies of `ops/proxies` in front of a gateway, with their example files: only name, addresses and certificate are replaced.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'
import { findFreePort } from './free-port.ts'
import { waitUntil } from './processes.ts'
import { findProgram } from './programs.ts'
import { createTemporaryFolder } from './temporary.ts'

export type ProxyName = 'nginx' | 'caddy'

export interface StartedProxy {
  /** Such as `https://127.0.0.1:41234`. */
  url: string
  /** What it has logged of requests so far. */
  readAccessLog(): string
}

interface Site {
  folder: string
  port: number
  /** Replaces texts of the example file; throws where one is not there. */
  fill(example: string, replacements: Record<string, string>): string
}

const EXAMPLES = join(import.meta.dirname, '../../ops/proxies')
const CERTIFICATES = join(import.meta.dirname, '../ops/emulator/fixtures')
const certificate = join(CERTIFICATES, 'server.pem')
const key = join(CERTIFICATES, 'server.key')

/** Writes what is needed to run the example of a proxy, and returns the command and the file of its access log. */
const proxies: Record<ProxyName, (site: Site) => { args: string[]; accessLog: string }> = {
  nginx({ folder, port, fill }) {
    const accessLog = join(folder, 'access.log')
    const site = fill('nginx.conf', {
      'listen 443': `listen 127.0.0.1:${port}`,
      'listen [::]:443 ssl http2;': '',
      '/etc/ssl/llm-gateway/certificate.pem': certificate,
      '/etc/ssl/llm-gateway/key.pem': key,
      '/var/log/nginx/llm-gateway.log': accessLog
    })
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${join(folder, name)};`
    )
    const file = join(folder, 'main.conf')
    writeFileSync(join(folder, 'site.conf'), site)
    writeFileSync(
      file,
      `daemon off;\npid ${join(folder, 'pid')};\nevents {}\nhttp {\n${folders.join('\n')}\ninclude site.conf;\n}\n`
    )
    return { args: ['-c', file, '-e', 'stderr'], accessLog }
  },
  caddy({ folder, port, fill }) {
    const accessLog = join(folder, 'access.log')
    const site = fill('Caddyfile', {
      'gateway.example {': `https://127.0.0.1:${port} {\n\ttls ${certificate} ${key}`,
      'log {': `log {\n\t\toutput file ${accessLog}`
    })
    const file = join(folder, 'Caddyfile')
    writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`)
    return { args: ['run', '--config', file, '--adapter', 'caddyfile'], accessLog }
  }
}

/** Starts a proxy on a free port and waits until it listens. From then on this process trusts its certificate. It exits with the test. */
export async function startProxy(t: Test, name: ProxyName, gateway: { url: string }): Promise<StartedProxy> {
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  function fill(example: string, replacements: Record<string, string>): string {
    const all = { '127.0.0.1:8090': new URL(gateway.url).host, ...replacements }
    return Object.entries(all).reduce(
      (text, [from, to]) => {
        if (!text.includes(from)) throw new Error(`${example} has no '${from}'.`)
        return text.replace(from, to)
      },
      readFileSync(join(EXAMPLES, example), 'utf8')
    )
  }
  const { args, accessLog } = proxies[name]({ folder, port, fill })
  const home = join(folder, 'home')
  mkdirSync(home)
  const child = spawn(findProgram(name), args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await exited
  })
  await untilListening(child, port)
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(join(CERTIFICATES, 'ca.pem'), 'utf8')])
  return {
    url: `https://127.0.0.1:${port}`,
    readAccessLog: () => (existsSync(accessLog) ? readFileSync(accessLog, 'utf8') : '')
  }
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  let output = ''
  child.stderr?.on('data', chunk => {
    output += String(chunk)
  })
  await waitUntil(() => {
    if (child.exitCode !== null) throw new Error(`The proxy exited with ${child.exitCode}:\n${output}`)
    return canConnect(port)
  }, 'the proxy listens')
}

function canConnect(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
