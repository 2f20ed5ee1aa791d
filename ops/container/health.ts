// The health check of the container: exits with 0 when the gateway of this container answers, and with 1 otherwise.
import { askHealth, findHealthTarget } from './ask-health.ts'

process.exit((await askHealth(findHealthTarget(process.env))) ? 0 : 1)
