// Runs the proxies of `ops/proxies` in front of a gateway, with their example files: only name, addresses and certificate are replaced.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/net/free-port.ts'
import { waitUntil } from './processes.ts'
import { findProgram } from './programs.ts'
import { createTemporaryFolder } from './temporary.ts'

export type ProxyName = 'nginx' | 'caddy' | 'haproxy' | 'envoy' | 'traefik'

export interface StartedProxy {
  /** Such as `https://127.0.0.1:41234`. */
  url: string
  /** All that it has logged so far: requests, errors and its own state, in files and on its outputs. */
  readLogs(): string
}

interface Site {
  folder: string
  port: number
  gateway: URL
  others: ReadonlyArray<{ url: string }>
  /** Replaces texts of the example file; throws where one is not there. */
  fill(example: string, replacements: Record<string, string>): string
}

const EXAMPLES = join(import.meta.dirname, '../../ops/proxies')
const CERTIFICATES = join(import.meta.dirname, '../ops/emulator/fixtures')
const certificate = join(CERTIFICATES, 'server.pem')
const key = join(CERTIFICATES, 'server.key')

/** Writes what is needed to run the example of a proxy, and returns the command and its log files. */
const proxies: Record<ProxyName, (site: Site) => { args: string[]; logs: string[] }> = {
  nginx({ folder, port, gateway, fill }) {
    const logs = [join(folder, 'access.log'), join(folder, 'error.log')] as const
    const site = fill('nginx.conf', {
      '127.0.0.1:8090': gateway.host,
      'listen 443': `listen 127.0.0.1:${port}`,
      'listen [::]:443 ssl http2;': '',
      '/etc/ssl/llm-gateway/certificate.pem': certificate,
      '/etc/ssl/llm-gateway/key.pem': key,
      '/var/log/nginx/llm-gateway.log': logs[0],
      '/var/log/nginx/llm-gateway-error.log': logs[1]
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
    return { args: ['-c', file, '-e', 'stderr'], logs: [...logs] }
  },
  caddy({ folder, port, gateway, fill }) {
    const accessLog = join(folder, 'access.log')
    const site = fill('Caddyfile', {
      '127.0.0.1:8090': gateway.host,
      '{\n\t# Of a request': '{\n\tadmin off\n\tauto_https off\n\t# Of a request',
      '{$GATEWAY_SITE:gateway.example} {': `https://127.0.0.1:${port} {\n\ttls ${certificate} ${key}`,
      '\tlog {': `\tlog {\n\t\toutput file ${accessLog}`
    })
    const file = join(folder, 'Caddyfile')
    writeFileSync(file, site)
    return { args: ['run', '--config', file, '--adapter', 'caddyfile'], logs: [accessLog] }
  },
  haproxy({ folder, port, gateway, others, fill }) {
    copyFileSync(certificate, join(folder, 'certificate.pem'))
    copyFileSync(key, join(folder, 'certificate.pem.key'))
    const site = fill('haproxy.cfg', {
      '127.0.0.1:8090': gateway.host,
      'bind :443': `bind 127.0.0.1:${port}`,
      '/etc/ssl/llm-gateway/certificate.pem': join(folder, 'certificate.pem')
    })
    const file = join(folder, 'haproxy.cfg')
    const further = others.map(
      ({ url }, at) => `  server other${at} ${new URL(url).host} check inter 1s fall 2 rise 1\n`
    )
    writeFileSync(file, site + further.join(''))
    return { args: ['-db', '-f', file], logs: [] }
  },
  envoy({ folder, port, gateway, fill }) {
    const site = fill('envoy.yaml', {
      '{address: 127.0.0.1, port_value: 8090}': `{address: 127.0.0.1, port_value: ${gateway.port}}`,
      '{address: 0.0.0.0, port_value: 443}': `{address: 127.0.0.1, port_value: ${port}}`,
      '/etc/ssl/llm-gateway/certificate.pem': certificate,
      '/etc/ssl/llm-gateway/key.pem': key
    })
    const file = join(folder, 'envoy.yaml')
    writeFileSync(file, site)
    return { args: ['-c', file, '--use-dynamic-base-id', '--concurrency', '1'], logs: [] }
  },
  traefik({ folder, port, gateway, fill }) {
    const files = { start: join(folder, 'traefik.yaml'), route: join(folder, 'gateway.yaml') }
    writeFileSync(
      files.start,
      fill('traefik/traefik.yaml', {
        '":443"': `"127.0.0.1:${port}"`,
        '/etc/traefik/gateway.yaml': files.route
      })
    )
    writeFileSync(
      files.route,
      fill('traefik/gateway.yaml', {
        'http://127.0.0.1:8090': gateway.origin,
        'Host(`gateway.example`)': 'Host(`127.0.0.1`)',
        '/etc/ssl/llm-gateway/certificate.pem': certificate,
        '/etc/ssl/llm-gateway/key.pem': key
      })
    )
    return { args: [`--configFile=${files.start}`], logs: [] }
  }
}

/**
 * Starts a proxy on a free port and waits until it passes requests on. HAProxy balances over the other gateways as well. From then on this process
 * trusts its certificate. It exits with the test.
 */
export async function startProxy(
  t: Test,
  name: ProxyName,
  gateway: { url: string },
  others: ReadonlyArray<{ url: string }> = []
): Promise<StartedProxy> {
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  function fill(example: string, replacements: Record<string, string>): string {
    return Object.entries(replacements).reduce(
      (text, [from, to]) => {
        if (!text.includes(from)) throw new Error(`${example} has no '${from}'.`)
        return text.replace(from, to)
      },
      readFileSync(join(EXAMPLES, example), 'utf8')
    )
  }
  const { args, logs } = proxies[name]({ folder, port, gateway: new URL(gateway.url), others, fill })
  const home = join(folder, 'home')
  mkdirSync(home)
  const child = spawn(findProgram(name), args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      output += String(chunk)
    })
  }
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await exited
  })
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(join(CERTIFICATES, 'ca.pem'), 'utf8')])
  const url = `https://127.0.0.1:${port}`
  await waitUntil(() => {
    if (child.exitCode !== null) throw new Error(`The proxy exited with ${child.exitCode}:\n${output}`)
    return hasRoute(url)
  }, 'the proxy has its route')
  return {
    url,
    readLogs: () => [output, ...logs.filter(existsSync).map(file => readFileSync(file, 'utf8'))].join('\n')
  }
}

/** Traefik listens with a certificate of its own, and answers 404, before it has read its second file. */
async function hasRoute(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/ping`)
    await response.body?.cancel()
    return response.status !== 404
  } catch {
    return false
  }
}
