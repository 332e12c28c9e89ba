# SPDX-License-Identifier: MIT
# Perl's Redis takes a lock and gives it back. Argument: a node's socket.
use strict;
use warnings;
use Redis;

my $release = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
my ($one, $other) = map { Redis->new(sock => $ARGV[0], name => 'worker') } 1 .. 2;
$one->ping eq 'PONG' or die 'ping';
$one->select(0) eq 'OK' or die 'select';
$one->set('perl', 'token', 'NX', 'PX', 60000) eq 'OK' or die 'set';
defined $other->set('perl', 'other', 'NX', 'PX', 60000) and die 'held twice';
$other->get('perl') eq 'token' or die 'get';
$other->pttl('perl') > 0 or die 'pttl';
$other->eval($release, 1, 'perl', 'other') == 0 or die 'wrong token';
$other->evalsha($other->script_load($release), 1, 'perl', 'token') == 1 or die 'release';
$one->exists('perl') == 0 or die 'exists';
eval { $one->incr('perl'); 1 } and die 'incr';
$@ =~ /unknown command/ or die $@;
$one->info or die 'info';
$one->quit;
print "Redis.pm $Redis::VERSION\n";
