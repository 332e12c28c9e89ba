<?php
// SPDX-License-Identifier: MIT
// php-redis takes a lock and gives it back. Argument: a node's socket.
declare(strict_types=1);

function check(bool $right, string $what): void
{
    if (!$right) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

$release = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
[$one, $other] = [new Redis(), new Redis()];
check($one->connect($argv[1]) && $other->connect($argv[1]), 'connect');
check($one->ping() && $one->select(0) && $one->client('setname', 'worker'), 'ping, select, client');
check($one->set('php', 'token', ['nx', 'px' => 60000]) === true, 'set');
check($other->set('php', 'other', ['nx', 'px' => 60000]) === false, 'held twice');
check($other->get('php') === 'token' && $other->pttl('php') > 0, 'get, pttl');
check($other->eval($release, ['php', 'other'], 1) === 0, 'wrong token');
check($other->evalSha($other->script('load', $release), ['php', 'token'], 1) === 1, 'release');
check($one->exists('php') === 0 && is_array($one->info()), 'exists, info');
check($one->incr('php') === false && str_contains($one->getLastError(), 'unknown command'), 'incr');
echo 'php-redis ', phpversion('redis'), "\n";
